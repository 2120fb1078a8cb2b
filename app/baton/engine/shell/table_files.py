"""What a file of `policies/shell/` may hold, as it is written. It checks types only: `tables` checks the rest."""

from typing import Any, Literal

import msgspec


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a program runs another; exactly one of the first seven is set."""

    command: int | None = None
    after: str | None = None
    script: str | None = None
    stdin: bool | Literal["other"] | None = None
    between: tuple[str, ...] | None = None
    module: str | None = None
    file: bool | None = None
    assignments: bool | Literal["expanded"] = False
    strip: str = ""
    until: tuple[str, ...] = (";", "+")


class RawClause(msgspec.Struct, forbid_unknown_fields=True, rename={"is_": "is"}):
    """One clause of `when` or `overall`."""

    is_: str | list[str] | None = None
    writes: list[str] | None = None
    runs: list[Way] | None = None
    flags: list[str | int] = []
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    first: list[str] = []
    count: str | int | None = None
    assigns: list[str] = []


class RawEntry(msgspec.Struct, forbid_unknown_fields=True, rename={"is_": "is"}):
    """One program or subcommand; the long form of an entry."""

    is_: str | list[str] = "unknown"
    aka: list[str] = []
    takes_value: list[str] = []
    overall: list[RawClause] = []
    subcommands: dict[str, Any] = {}
    when: list[RawClause] = []
    writes: list[str] = []
    runs: list[Way] = []
    note: str = ""
