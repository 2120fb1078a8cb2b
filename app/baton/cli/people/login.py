"""`baton login`, `logout`, `unlock` and `lock`: a person's own token, kept where no agent's process gets it through `baton`."""

import getpass
import re
from typing import Any

from baton.cli.options import AsJson
from baton.cli.output import show_json
from baton.local import config, person_token, unlocked
from baton.local.config import LOGIN
from baton.local.server import Api, ApiError

_SHAPE = re.compile(r"baton_([0-9a-f]{12})_[0-9a-f]{64}")


def login(as_json: AsJson = False) -> None:
    """Keep your token in this machine's keyring, for commands that a person types.

    An admin makes the token: `baton token create --user YOU`. Where no keyring works, `baton unlock` holds it for ten minutes.
    """
    url = _url_for_a_person("login")
    token = _typed_token()
    user, role = _checked(token)
    try:
        person_token.keep_in_keyring(url, token)
    except person_token.NoKeyringError as error:
        raise ApiError(f"{error}; `baton unlock` holds the token for ten minutes instead") from None
    config.save({LOGIN: url})
    if as_json:
        show_json({"url": url, "user": user, "role": role})
        return
    print(f"You are `{user}` ({role}) at {url}. The token is in this machine's keyring; `baton logout` takes it out.")
    _hint(token)


def logout(as_json: AsJson = False) -> None:
    """Take your token out of the keyring, and end what `baton unlock` holds."""
    found = config.load()
    person_token.drop_from_keyring(found.url)
    if found.login:
        config.save({LOGIN: ""})
    unlocked.lock(found.url)
    if as_json:
        show_json({"url": found.url})
        return
    print(f"This machine keeps no token of yours for {found.url} in its keyring or in memory.")


def unlock(as_json: AsJson = False) -> None:
    """Hold your token in memory for ten minutes, for this terminal."""
    url = _url_for_a_person("unlock")
    token = _typed_token()
    user, role = _checked(token)
    try:
        unlocked.hold(url, token)
    except OSError as error:
        raise ApiError(f"the token cannot be held: {error}; use BATON_TOKEN for one command") from None
    if as_json:
        show_json({"url": url, "user": user, "role": role, "seconds": unlocked.LASTS_S})
        return
    print(
        f"You are `{user}` ({role}) at {url} in this terminal for {unlocked.LASTS_S // 60} minutes; `baton lock` ends it sooner."
    )
    _hint(token)


def lock(as_json: AsJson = False) -> None:
    """End what `baton unlock` holds."""
    url = config.load().url
    was_held = unlocked.lock(url)
    if as_json:
        show_json({"url": url, "was_held": was_held})
        return
    print(f"Locked: no token for {url} is held any more." if was_held else f"No token for {url} is held.")


def _url_for_a_person(command: str) -> str:
    from baton.shared.agent_process import own_doubt

    if why := own_doubt():
        raise ApiError(f"`baton {command}` is for a person at a terminal, and this process is not one's: {why}")
    return config.load().url


def _typed_token() -> str:
    """Ask for a token at the terminal, without showing it."""
    try:
        token = getpass.getpass("Your token (it is not shown): ").strip()
    except EOFError:
        token = ""
    if not _SHAPE.fullmatch(token):
        raise ApiError("that is no token of Baton; an admin makes one: `baton token create --user YOU`")
    return token


def _checked(token: str) -> tuple[str, str]:
    """Return the user and the role of a token, as the server knows them. Raise ApiError unless it is a person's own."""
    token_id = token.split("_")[1]
    known = Api(token=token).pages("/tokens", {})
    found: dict[str, Any] | None = next((one for one in known if one["id"] == token_id), None)
    if found is None or found["role"] == "hook":
        raise ApiError(
            "this token is for hooks and agents, which weaken nothing; your own has another role: `baton token list`"
        )
    return found["user"], found["role"]


def _hint(token: str) -> None:
    if config.load().token == token:
        print(
            "It is also in the config file, which agents read: `baton hooks install` puts one for hooks in its place."
        )
