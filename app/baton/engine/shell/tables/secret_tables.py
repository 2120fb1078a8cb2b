"""The table of programs that take secrets in their arguments, built from policies/shell/secrets.yaml."""

from typing import Any

import msgspec

from baton.engine.text.secrets.lines import SecretPlace
from baton.engine.text.yaml_lines import Lines, Path, Problem, ProblemError, fit, line_of

FILE = "secrets.yaml"
"""The file of a folder of shell tables that has this format."""
_PLACES = ("option", "operand", "word", "stdin")


class RawSecretEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One program or subcommand; an entry that is only a list has `secrets` alone."""

    secrets: list[str | SecretPlace] = []
    takes_value: list[str] = []
    subcommands: dict[str, Any] = {}


class SecretEntry(msgspec.Struct, frozen=True):
    """Where a program or a subcommand takes secrets, and which of its options take a value."""

    secrets: tuple[SecretPlace, ...] = ()
    takes_value: frozenset[str] = frozenset()
    subcommands: dict[str, "SecretEntry"] = {}


def read(path: str, data: dict[str, Any], lines: Lines, problems: list[Problem]) -> dict[str, SecretEntry]:
    """Read the data of a file; add what is wrong to the problems."""
    found: dict[str, SecretEntry] = {}
    for key, value in data.items():
        entry = _entry(path, value, lines, problems, (key,))
        found |= dict.fromkeys(key.split("|"), entry)
    return found


def _entry(path: str, value: Any, lines: Lines, problems: list[Problem], at: Path) -> SecretEntry:
    if isinstance(value, list):
        value = {"secrets": value}
    try:
        raw = fit(path, value, lines, RawSecretEntry, at)
    except ProblemError as error:
        problems.append(error.problem)
        return SecretEntry()
    places = tuple(SecretPlace(option=place) if isinstance(place, str) else place for place in raw.secrets)
    for index, place in enumerate(places):
        text = _fault(place)
        if text:
            problems.append(Problem(path, line_of(lines, (*at, "secrets", index)), text))
    below: dict[str, SecretEntry] = {}
    for key, part in raw.subcommands.items():
        below |= dict.fromkeys(key.split("|"), _entry(path, part, lines, problems, (*at, "subcommands", key)))
    return SecretEntry(secrets=places, takes_value=frozenset(raw.takes_value), subcommands=below)


def _fault(place: SecretPlace) -> str:
    """Return what is wrong with a place, "" for nothing."""
    if sum(bool(getattr(place, name)) for name in _PLACES) != 1:
        return f"a place of a secret needs exactly one of {', '.join(f'`{name}`' for name in _PLACES)}"
    if place.option and not place.option.startswith(("-", "+", "/")):
        return f"`{place.option}` is not an option: it must start with `-`"
    return ""
