"""What `runner.yaml` says: which agents this machine runs, in which folders, how many at once. It starts nothing."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PROVIDERS = ("codex", "claude_code", "opencode", "gemini")
"""Agents that the server takes tasks for, by its names."""
_UNKNOWN = re.compile(r"unknown field `(.+?)`")
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class ConfigError(Exception):
    """What is wrong with the file, in words for the person."""


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an agent is started, and what it may be asked for. `models` empty means any; times are in seconds."""

    command: Annotated[list[str], msgspec.Meta(min_length=1)]
    driver: Literal["acp", "claude-print"] = "acp"
    mode: str = ""
    env: dict[str, str] = {}
    models: list[str] = []
    max_timeout_s: Seconds = 3_600
    max_thinking_tokens: Annotated[int, msgspec.Meta(ge=0)] = 32_000


class Worktrees(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many worktrees of ended jobs are kept, and for how many days."""

    keep: Annotated[int, msgspec.Meta(ge=0)] = 5
    days: Positive = 7


class RunnerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `workspaces` maps an alias to a folder; `share` lends the runner to the owner's team; times in seconds."""

    name: str = ""
    slots: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    share: bool = False
    drain_s: Seconds = 300
    cancel_grace_s: Seconds = 5
    worktrees: Worktrees = Worktrees()
    workspaces: dict[str, str] = {}
    providers: dict[str, Provider] = {}

    def folder(self, alias: str) -> Path | None:
        """Tell the folder of an alias, symbolic links resolved; None where there is no such alias."""
        return Path(self.workspaces[alias]).expanduser().resolve() if alias in self.workspaces else None


def load(path: Path) -> RunnerConfig:
    """Read and check the file.

    Raises:
        ConfigError: with what is wrong and what is allowed.
    """
    try:
        read = yaml.safe_load(path.read_text())
        given = {name: value for name, value in read.items() if value is not None} if isinstance(read, dict) else read
        config = msgspec.convert(given or {}, RunnerConfig)
    except FileNotFoundError:
        raise ConfigError(f"there is no `{path}`; `baton runner init` writes one") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise ConfigError(f"`{path}` cannot be used: {error}{_likely(str(error))}") from None
    for name in config.providers:
        if name not in PROVIDERS:
            allowed = ", ".join(f"`{one}`" for one in PROVIDERS)
            raise ConfigError(
                f"`{path}`: no task is for a provider `{name}`{_near(name, PROVIDERS)}; allowed: {allowed}"
            )
    for alias in config.workspaces:
        if not NAME.fullmatch(alias):
            raise ConfigError(f"`{path}`: workspace `{alias}` must be letters, digits, `.`, `_`, `-`, at most 64")
        folder = config.folder(alias)
        if folder is None or not folder.is_dir():
            raise ConfigError(f"`{path}`: workspace `{alias}` is `{config.workspaces[alias]}`, which is no folder")
        if folder in {Path("/"), Path("~").expanduser().resolve()}:
            raise ConfigError(f"`{path}`: workspace `{alias}` is `{folder}`; name a project's folder, not all of them")
    return config


def _likely(error: str) -> str:
    """Say which field was likely meant by one that there is none of."""
    found = _UNKNOWN.search(error)
    fields = [name for kind in (RunnerConfig, Provider, Worktrees) for name in kind.__struct_fields__]
    return _near(found[1], fields) if found else ""


def _near(wrong: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(wrong, allowed, 1)
    return f"; did you mean `{near[0]}`?" if near else ""


def environment(env: Mapping[str, str], provider: Provider, thinking_tokens: int = 0) -> dict[str, str]:
    """Make an agent's environment: this one's, the provider's, the thinking budget; nothing of an agent above us."""
    above = {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR"}
    made = {name: value for name, value in env.items() if name not in above} | provider.env
    if thinking_tokens:
        made["MAX_THINKING_TOKENS"] = str(min(thinking_tokens, provider.max_thinking_tokens))
    return made


def program(provider: Provider, env: Mapping[str, str]) -> str | None:
    """Tell where a provider's program is; None where it is not installed."""
    path = environment(env, provider).get("PATH", os.defpath)
    return shutil.which(os.path.expanduser(provider.command[0]), path=path)  # noqa: PTH111 - `which` takes text
