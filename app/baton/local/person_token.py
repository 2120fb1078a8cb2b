"""Finds the person's own token, in this order: BATON_TOKEN, the keyring, `baton auth unlock`, the config file.

An agent can also read files and variables. Keyring and unlocked tokens are used only in a process at a person's
terminal, started by no agent; any other `baton` ignores them.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec

from baton.local import unlocked
from baton.local.config import LocalConfig

SERVICE = "baton"
"""The name of our entries in the keyring; the user of each is the server's URL."""


class NoKeyringError(Exception):
    """This machine has no keyring for secrets; the message explains why."""


def with_token(config: LocalConfig, env: Mapping[str, str] = os.environ) -> LocalConfig:
    """Return the settings with the first token found."""
    if env.get("BATON_TOKEN"):
        return config
    has_login, is_unlocked = config.login == config.url, unlocked.exists(config.url)
    if not (has_login or is_unlocked) or not _is_person():
        return config
    return config._replace(
        token=(has_login and _from_keyring(config.url))
        or (is_unlocked and unlocked.ask(config.url))
        or config.token
    )  # fmt: skip


def keep_in_keyring(url: str, token: str) -> None:
    """Keep a token in the operating system's keyring. Raise NoKeyringError without one."""
    if find_spec("keyring") is None:
        raise NoKeyringError("the package `keyring` is not installed next to `baton`: `pip install 'baton[keyring]'`")
    import keyring
    from keyring.errors import KeyringError

    backend = keyring.get_keyring()
    # Of keyring's backends, `fail` and `null` keep nothing and have no priority above 0; `keyrings.alt` has plain files.
    if backend.priority <= 0 or type(backend).__module__.startswith("keyrings.alt"):
        raise NoKeyringError("this machine has no keyring for secrets")
    try:
        keyring.set_password(SERVICE, url, token)
    except KeyringError as error:
        raise NoKeyringError(f"the keyring takes nothing: {error}") from None


def drop_from_keyring(url: str) -> None:
    """Take the token out of the keyring, if it is there."""
    if find_spec("keyring") is None:
        return
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.delete_password(SERVICE, url)
    except KeyringError:
        return


def _from_keyring(url: str) -> str:
    if find_spec("keyring") is None:
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, url) or ""
    except KeyringError:
        return ""


def _is_person() -> bool:
    from baton.shared.agent_process import own_doubt  # it takes longer to import than most commands take to run

    return not own_doubt()
