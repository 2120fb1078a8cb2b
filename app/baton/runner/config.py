"""Reads `runner.yaml`: agents, workspaces and limits of this machine."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec.structs import replace

from baton.lib.text.yaml_lines import ProblemError, fit
from baton.shared.providers import ACP_AGENTS, near_provider, provider_name

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Positive = Annotated[int, msgspec.Meta(ge=1)]
Uncommitted = Literal["snapshot", "leave", "refuse"]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class ConfigError(Exception):
    """The file is invalid. The message says why."""


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The command and limits of an agent. Empty `models`: any. Times are in seconds.

    Agents known by name (`shared.providers`) need no `command`. `env` adds variables. `env_pass` has names or globs of
    the runner's variables to pass on.
    """

    command: Annotated[list[str], msgspec.Meta(min_length=1)] = []
    driver: Literal["acp", "claude-print", "codex-server"] = "acp"
    mode: str = ""
    env: dict[str, str] = {}
    env_pass: list[str] = []
    models: list[str] = []
    max_timeout_s: Seconds = 3_600
    max_thinking_tokens: Annotated[int, msgspec.Meta(ge=0)] = 32_000


class WorktreeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Maximum number and age in days of kept worktrees, and the handling of uncommitted changes.

    `uncommitted: snapshot` copies them into a worktree, `leave` starts at the last commit, `refuse` fails the job.
    """

    keep: Annotated[int, msgspec.Meta(ge=0)] = 5
    days: Positive = 7
    uncommitted: Uncommitted = "snapshot"


class Workspace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A working folder of agents, and the preparation of its worktrees.

    `copy` are globs of untracked files to copy, such as `.env`. `setup` is a shell line to run in the worktree, for at
    most `setup_timeout_s` seconds.
    """

    folder: str
    copy: list[str] = []
    setup: str = ""
    setup_timeout_s: Seconds = 600


class RunnerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. Times are in seconds.

    `workspaces` maps an alias to a folder or a `Workspace`. `share` lends the runner to the owner's team. With
    `confirm: always` only a person can allow an agent's request; with `by-rules` a rule can too. `notices` enables
    desktop notifications. `env_pass` has names or globs of the runner's variables for every agent.
    """

    name: str = ""
    slots: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    share: bool = False
    notices: bool = True
    confirm: Literal["always", "by-rules"] = "by-rules"
    env_pass: list[str] = []
    drain_s: Seconds = 300
    cancel_grace_s: Seconds = 5
    worktrees: WorktreeConfig = WorktreeConfig()
    workspaces: dict[str, str | Workspace] = {}
    providers: dict[str, Provider] = {}

    def folder(self, alias: str) -> Path | None:
        """Return the folder of an alias with symbolic links resolved, or None."""
        workspace = self.workspace(alias)
        return None if workspace is None else Path(workspace.folder).expanduser().resolve()

    def workspace(self, alias: str) -> Workspace | None:
        """Return the workspace of an alias, or None."""
        found = self.workspaces.get(alias)
        return Workspace(folder=found) if isinstance(found, str) else found


def load(path: Path) -> RunnerConfig:
    """Read and validate the file. Raise ConfigError, with the problem and the allowed values."""
    try:
        read = yaml.safe_load(path.read_text())
        # A key without a value (`providers:`) is null in YAML and means the default.
        given = {name: value for name, value in read.items() if value is not None} if isinstance(read, dict) else read
        if isinstance(given, dict) and isinstance(given.get("providers"), dict):
            given["providers"] = {name: one or {} for name, one in given["providers"].items()}
        config = fit(str(path), given or {}, {}, RunnerConfig)
    except FileNotFoundError:
        raise ConfigError(f"`{path}` does not exist; create it with `baton runner init`") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"`{path}` is not valid: {error}") from None
    except ProblemError as error:
        raise ConfigError(f"`{path}` is not valid: {error.problem.text}") from None
    config = replace(config, providers=_named(path, config.providers))
    for alias in config.workspaces:
        _check_workspace(path, alias, config)
    return config


def _check_workspace(path: Path, alias: str, config: RunnerConfig) -> None:
    if not NAME.fullmatch(alias):
        raise ConfigError(
            f"`{path}`: workspace alias `{alias}` may contain only letters, digits, `.`, `_` and `-`, at most 64"
        )
    workspace, folder = config.workspace(alias), config.folder(alias)
    assert workspace is not None  # noqa: S101 - the alias is one of the file's
    if folder is None or not folder.is_dir():
        raise ConfigError(f"`{path}`: workspace `{alias}` is `{workspace.folder}`, not a folder")
    # A delegated agent may change its workspace: `/` or the home would be everything.
    if folder in {Path("/"), Path("~").expanduser().resolve()}:
        raise ConfigError(f"`{path}`: workspace `{alias}` is `{folder}`; name one project's folder")
    for pattern in workspace.copy:
        parts = PurePosixPath(pattern).parts
        if not parts or parts[0] == "/" or pattern.startswith("~") or ".." in parts or ".git" in parts:
            raise ConfigError(
                f"`{path}`: `copy` of workspace `{alias}` contains `{pattern}`;"
                " give globs of files below the folder, such as `.env` or `config/*.local`, without `..` and `.git`"
            )


def _named(path: Path, providers: Mapping[str, Provider]) -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    for text, provider in providers.items():
        name = provider_name(text)
        if name is None:
            raise ConfigError(
                f"`{path}`: provider `{text}` may contain only letters, digits, `_`, `-` and `.`, at most 64"
            )
        # `Codex` and `codex` are one name.
        if name in found:
            raise ConfigError(f"`{path}`: provider `{name}` is listed twice")
        known = ACP_AGENTS.get(name)
        if not provider.command and (known is None or provider.driver != "acp"):
            near = near_provider(name)
            hint = f"; did you mean `{near}`?" if near and known is None else ""
            raise ConfigError(f"`{path}`: provider `{text}` needs a `command`{hint}")
        found[name] = provider if provider.command or known is None else replace(provider, command=list(known.command))
    return found


def program(provider: Provider, env: Mapping[str, str]) -> str | None:
    """Return the path of a provider's program, or None if it is not installed."""
    path = provider.env.get("PATH") or env.get("PATH", os.defpath)
    return shutil.which(os.path.expanduser(provider.command[0]), path=path)  # noqa: PTH111 - `which` takes a string
