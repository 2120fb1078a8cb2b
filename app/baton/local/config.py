"""Reads and writes the person's settings: where the server is, who they are, and their token.

The file is `${XDG_CONFIG_HOME:-~/.config}/baton/config`: lines `NAME=value`, the first of a name counts, no quoting.
The environment wins, except for commands; an empty value counts as absent. `hooks/baton-lib.sh` reads the same file by the same rules, and
besides `BATON_ACCEPT_REWRITES`, which no variable can set.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from baton.local.hook.main import login

_ALSO_IN_THE_ENVIRONMENT = ("BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE")
LOGIN = "BATON_LOGIN"
DIGESTS = {
    "claude-code": "BATON_DIGESTS_CLAUDE_CODE",
    "codex": "BATON_DIGESTS_CODEX",
    "copilot-cli": "BATON_DIGESTS_COPILOT_CLI",
    "continue": "BATON_DIGESTS_CONTINUE",
    "cursor": "BATON_DIGESTS_CURSOR",
    "gemini": "BATON_DIGESTS_GEMINI",
    "opencode": "BATON_DIGESTS_OPENCODE",
    "qwen": "BATON_DIGESTS_QWEN",
}
"""The names of the checksums of what was installed, by client."""
INSTALLED = "BATON_INSTALLED"
"""The paths that this machine has elsewhere than usual, with `:` between them."""
RUNNER_START = "BATON_RUNNER_START"
"""Whether the person agreed that `baton delegate` starts the runner: `yes`, `no`, or absent if they were not asked."""
NAMES = (*_ALSO_IN_THE_ENVIRONMENT, "BATON_WORK_ITEMS_COMMAND", LOGIN, INSTALLED, RUNNER_START, *DIGESTS.values())
"""A command is taken from the file alone: in the environment anything that a session runs could leave one behind."""
DEFAULT_URL = "http://127.0.0.1:8080"


class Config(NamedTuple):
    """The settings in force: `url` has no slash at its end, `token` and the others are "" if unset.

    `token` is that of the environment or of the file; `baton.local.person_token` finds those that are in no file. `login` is
    the server whose token is in the keyring.
    """

    url: str
    user: str
    token: str = ""
    ca_file: str = ""
    work_items_command: str = ""
    login: str = ""


def config_path(env: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file, whether it exists or not."""
    return Path(env.get("XDG_CONFIG_HOME") or home(env) / ".config") / "baton" / "config"


def home(env: Mapping[str, str] = os.environ) -> Path:
    """Return the person's home folder, as a shell would."""
    return Path(env.get("HOME") or Path.home())


def load(env: Mapping[str, str] = os.environ) -> Config:
    """Read the environment, then the file, then the defaults."""
    values = _read(config_path(env)) | {name: env[name] for name in _ALSO_IN_THE_ENVIRONMENT if env.get(name)}
    return Config(
        url=values.get("BATON_URL", DEFAULT_URL).removesuffix("/"),
        user=values.get("BATON_USER") or login(),
        token=values.get("BATON_TOKEN", ""),
        ca_file=values.get("BATON_CA_FILE", ""),
        work_items_command=values.get("BATON_WORK_ITEMS_COMMAND", ""),
        login=values.get(LOGIN, ""),
    )


def stored(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Return a value of the file, "" if it has none."""
    return _read(config_path(env)).get(name, "")


def save(values: Mapping[str, str], env: Mapping[str, str] = os.environ) -> Path:
    """Write values into the file, keep its other lines, and return its path. "" takes a value out. Its mode is 0600.

    Raises:
        ValueError: If a value holds a line break.
    """
    path = config_path(env)
    for name, value in values.items():
        if set(value) & {"\n", "\r", "\0"}:
            raise ValueError(f"`{name}` holds a line break, which the file `{path}` cannot keep")
    old = path.read_bytes().decode("utf-8", "surrogateescape").split("\n") if path.exists() else []
    kept = [line for line in old if line and line.partition("=")[0] not in values]
    text = "".join(f"{line}\n" for line in [*kept, *(f"{name}={value}" for name, value in values.items() if value)])
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8", "surrogateescape"), mode=0o600)
    return path


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file whole or not at all. A symbolic link stays; the file that it points to is replaced."""
    import tempfile  # most commands write no file

    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SystemExit(f"baton: cannot read `{path}`: {error.strerror}") from error
    values: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.removesuffix("\r").partition("=")
        if equals and value and name in NAMES:
            values.setdefault(name, value)
    return values
