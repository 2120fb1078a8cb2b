"""Reads and writes the person's settings: the server's url, the login and the token.

The file is `${XDG_CONFIG_HOME:-~/.config}/baton/config`: lines `NAME=value`, the first of a name counts, no quoting.
The environment wins, except for commands; an empty value counts as absent. The hooks read the same file, and take from
the environment only the variables their client was started with (`hooks/README.md`).
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from baton.local.hook.clients import CLIENTS
from baton.local.hook.main import login, read_config

_ALSO_IN_THE_ENVIRONMENT = ("BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE")
LOGIN = "BATON_LOGIN"
INSTALLED = "BATON_INSTALLED"
"""The paths that this machine has elsewhere than usual, with `:` between them."""
RELAY = "BATON_RELAY"
"""The relay's socket and, behind a blank, the Python that runs it; absent without a relay."""
RELAY_PORT = "BATON_RELAY_PORT"
"""The relay's port for a client's http hooks and, behind a blank, its secret; absent without such hooks."""
BUNDLE = "BATON_BUNDLE"
"""The digest of the relay's stored rules, their time in seconds since 1970, and their owner's digest; set by the relay."""
RUNNER_START = "BATON_RUNNER_START"
"""Whether the person agreed that `baton delegate` starts the runner: `yes`, `no`, or absent if they were not asked."""


def digests_name(client: str) -> str:
    """Return the file name of a client's installed checksums."""
    return f"BATON_DIGESTS_{client.upper().replace('-', '_')}"


NAMES = (
    *_ALSO_IN_THE_ENVIRONMENT,
    "BATON_WORK_ITEMS_COMMAND",
    LOGIN,
    INSTALLED,
    RELAY,
    RELAY_PORT,
    BUNDLE,
    RUNNER_START,
    *map(digests_name, CLIENTS),
)
"""A command is taken from the file alone: in the environment anything that a session runs could leave one behind."""
DEFAULT_URL = "http://127.0.0.1:8080"


class LocalConfig(NamedTuple):
    """The settings in force. `url` has no trailing slash. `token` and the others are "" if unset.

    `token` comes from the environment or the file; `baton.local.person_token` finds tokens outside files. `login` is
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


def load(env: Mapping[str, str] = os.environ) -> LocalConfig:
    """Read the environment, then the file, then the defaults."""
    values = _read(config_path(env))
    own = values.get("BATON_URL", DEFAULT_URL).removesuffix("/")
    if env.get("BATON_URL", "").removesuffix("/") not in {"", own}:  # a token goes to its own server alone
        values = {name: value for name, value in values.items() if name not in {"BATON_TOKEN", "BATON_CA_FILE"}}
    values |= {name: env[name] for name in _ALSO_IN_THE_ENVIRONMENT if env.get(name)}
    return LocalConfig(
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


def save(values: Mapping[str, str], env: Mapping[str, str] = os.environ, path: Path | None = None) -> Path:
    """Write values into the file, keep its other lines, and return its path. "" takes a value out. Its mode is 0600.

    `path` names another file than the environment's.

    Raises:
        ValueError: If a value holds a line break.
    """
    path = path or config_path(env)
    for name, value in values.items():
        if set(value) & {"\n", "\r", "\0"}:
            raise ValueError(f"`{name}` contains a line break; the file `{path}` cannot store it")
    old = path.read_bytes().decode("utf-8", "surrogateescape").split("\n") if path.exists() else []
    kept = [line for line in old if line and line.partition("=")[0] not in values]
    text = "".join(f"{line}\n" for line in [*kept, *(f"{name}={value}" for name, value in values.items() if value)])
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8", "surrogateescape"), mode=0o600)
    return path


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file atomically. A symbolic link stays; its target is replaced."""
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
        path.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SystemExit(f"baton: cannot read `{path}`: {error.strerror}") from error
    return {name: value for name, value in read_config(str(path)).items() if name in NAMES}


def is_delegated() -> bool:
    """Return whether an agent working on a job started this process.

    It may work in place and wait for its own delegations, so these must not wait for its folder. With tokens the server
    also knows it by the agent's own token.
    """
    return bool(os.environ.get("BATON_JOB"))
