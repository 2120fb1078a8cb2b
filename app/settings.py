"""The settings of a server, and the only reader of its environment. It starts nothing and creates no folder."""

import ipaddress
import os
import pwd
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

ELSEWHERE = frozenset(
    {
        "BATON_CA_FILE",
        "BATON_DEBUG",
        "BATON_DISABLED",
        "BATON_PROJECT",
        "BATON_ROOT",
        "BATON_TOKEN",
        "BATON_URL",
        "BATON_USER",
        "BATON_WORK_ITEMS",
        "BATON_WORK_ITEMS_COMMAND",
    },
)
"""Variables of the hooks and the command line, which the server does not read."""


def _person() -> str:
    """Name the operating system's user as the hooks do, or `local` where it cannot be told."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "local"


class Settings(BaseSettings):
    """What an operator may set, each as `BATON_` and its name in capitals; `PORT` works for the port too."""

    model_config = SettingsConfigDict(env_prefix="BATON_", frozen=True, extra="forbid", env_ignore_empty=True)

    home: Path = Field(
        Path(".baton"), description="Folder of all state: database, Valkey's files, the team's policies."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(
        8080,
        ge=0,
        le=65_535,
        validation_alias=AliasChoices("PORT", "BATON_PORT", "port"),
        description="Port to listen on; 0 takes a free one.",
    )
    redis_url: str = Field("", description="`redis://`, `rediss://` or `unix://`; empty starts the bundled Valkey.")
    database_url: str = Field("", description="`postgresql://` or `sqlite://`; empty takes SQLite in the home folder.")
    policies: Path = Field(
        default_factory=lambda data: data["home"] / "policies",
        description="Folder of the team's own policies; `policies` in the home folder.",
    )
    on_failure: Literal["allow", "block"] = Field(
        "allow",
        description="Answer of the hook endpoints when no decision can be made and the hook does not say.",
    )
    auth: Literal["", "on", "off"] = Field(
        "",
        description="`on` asks every request for a token; `off` is for loopback with the embedded database. Empty:"
        " `on` as soon as `BATON_HOST` is not loopback or `BATON_DATABASE_URL` is set.",
    )
    default_user: str = Field(
        default_factory=_person,
        max_length=200,
        description="User of requests that name none; the operating system's user.",
    )
    organisation: str = Field("default", max_length=200, description="Organisation that this server serves.")
    team: str = Field("default", max_length=200, description="Team of requests that name none.")
    auto_level: Literal["strict", "guidance"] = Field(
        "strict",
        description="Level that work items switch the mode on with; `guidance` for a soft launch.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Names in the Host header that are answered besides loopback's, separated by commas.",
    )
    redis_timeout_ms: int = Field(50, ge=5, le=10_000, description="Longest wait for Redis within a decision, in ms.")
    history_ttl_s: int = Field(86_400, ge=60, description="How long an idle session's history is kept, in seconds.")
    records_queue: int = Field(10_000, ge=1, description="Records held in memory while Redis is away.")
    workers: int = Field(
        1, ge=1, le=64, description="Processes that answer, on one socket; more than one for more than one processor."
    )
    drain_s: float = Field(
        0,
        ge=0,
        le=300,
        description="How long the server goes on serving after SIGTERM while `/readyz` answers 503, in seconds.",
    )
    rate_per_minute: int = Field(
        1_200,
        ge=0,
        description="Calls that one user's agents may make in a minute, on all servers together; 0 for no limit.",
    )
    rate_burst: int = Field(300, ge=1, description="How many of these calls may come at once.")
    admin_per_minute: int = Field(
        120, ge=0, description="Changes that one user may make by the API in a minute, per worker; 0 for no limit."
    )
    expensive_per_minute: int = Field(
        60, ge=0, description="Long lists and computations that one user may ask for in a minute; 0 for no limit."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    log_format: Literal["text", "json"] = Field(
        "text", description="Form of the log on standard error; `json` is one object a line."
    )

    @property
    def on_loopback(self) -> bool:
        """Tell whether only this machine can reach the server."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def auth_on(self) -> bool:
        """Tell whether every request needs a token."""
        return self.auth == "on" or (self.auth == "" and (not self.on_loopback or self.database_url != ""))

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(v.strip() for v in value.split(",") if v.strip()) if isinstance(value, str) else value


def known_variables() -> frozenset[str]:
    """Name every variable that Baton's server, hooks or command line reads."""
    return ELSEWHERE | {f"BATON_{name.upper()}" for name in Settings.model_fields}


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Describe each `BATON_` variable that nothing reads, with the spelling that was likely meant."""
    known = known_variables()
    problems = []
    for name in sorted(environ):
        if name.startswith("BATON_") and name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.75)
            problems.append(f"unknown variable `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    return problems
