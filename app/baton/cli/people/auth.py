"""`baton auth`: keeps a person's own token unreadable for agents' processes through `baton`."""

import getpass
import re
from typing import Any

from baton.cli.groups import group
from baton.cli.options import AsJson
from baton.cli.output import end_with_json
from baton.local import config, person_token, unlocked
from baton.local.config import LOGIN
from baton.local.server import Api, ApiError

app = group("Sign in: keep your token in the keyring, or in memory for ten minutes.")

_SHAPE = re.compile(r"baton_([0-9a-f]{12})_[0-9a-f]{64}")


@app.command()
def login(as_json: AsJson = False) -> None:
    """Store your token in this machine's keyring, for commands typed by a person.

    An admin makes the token: `baton token create --user YOU`. Without a keyring, `baton auth unlock` keeps it for ten
    minutes.
    """
    url = _url_for_a_person("login")
    token = _typed_token()
    user, role = _checked(token)
    try:
        person_token.keep_in_keyring(url, token)
    except person_token.NoKeyringError as error:
        raise ApiError(f"{error}; `baton auth unlock` holds the token for ten minutes instead") from None
    config.save({LOGIN: url})
    end_with_json({"url": url, "user": user, "role": role}, when=as_json)
    print(
        f"You are `{user}` ({role}) at {url}. The token is in this machine's keyring; `baton auth logout` takes it out."
    )
    _hint(token)


@app.command()
def logout(as_json: AsJson = False) -> None:
    """Remove your token from the keyring, and from `baton auth unlock`."""
    found = config.load()
    person_token.drop_from_keyring(found.url)
    if found.login:
        config.save({LOGIN: ""})
    unlocked.lock(found.url)
    end_with_json({"url": found.url}, when=as_json)
    print(f"This machine keeps no token of yours for {found.url} in its keyring or in memory.")


@app.command()
def unlock(as_json: AsJson = False) -> None:
    """Hold your token in memory for ten minutes, for this terminal."""
    url = _url_for_a_person("unlock")
    token = _typed_token()
    user, role = _checked(token)
    try:
        unlocked.hold(url, token)
    except OSError as error:
        raise ApiError(f"the token cannot be held: {error}; use BATON_TOKEN for one command") from None
    end_with_json({"url": url, "user": user, "role": role, "seconds": unlocked.LASTS_S}, when=as_json)
    print(
        f"You are `{user}` ({role}) at {url} in this terminal for {unlocked.LASTS_S // 60} minutes; `baton auth lock` ends it sooner."
    )
    _hint(token)


@app.command()
def lock(as_json: AsJson = False) -> None:
    """Remove the token from `baton auth unlock`."""
    url = config.load().url
    was_held = unlocked.lock(url)
    end_with_json({"url": url, "was_held": was_held}, when=as_json)
    print(f"Locked: no token for {url} is stored any more." if was_held else f"No token for {url} is held.")


def _url_for_a_person(command: str) -> str:
    from baton.shared.agent_process import own_doubt

    if why := own_doubt():
        raise ApiError(f"`baton auth {command}` is for a person at a terminal, and this process is not one's: {why}")
    return config.load().url


def _typed_token() -> str:
    """Ask for a token at the terminal without echo."""
    try:
        token = getpass.getpass("Your token (it is not shown): ").strip()
    except EOFError:
        token = ""
    if not _SHAPE.fullmatch(token):
        raise ApiError("this is not a token of Baton; an admin creates one: `baton token create --user YOU`")
    return token


def _checked(token: str) -> tuple[str, str]:
    """Return a token's user and role from the server. Raise ApiError unless it is a person's own."""
    token_id = token.split("_")[1]
    known = Api(token=token).pages("/tokens", {})
    found: dict[str, Any] | None = next((one for one in known if one["id"] == token_id), None)
    if found is None or found["role"] == "hook":
        raise ApiError(
            "this token is for hooks and agents, without permission to weaken rules; your own has another role: `baton token list`"
        )
    return found["user"], found["role"]


def _hint(token: str) -> None:
    if config.load().token == token:
        print(
            "It is also in the config file, readable by agents. `baton hooks install` replaces it with a token for hooks."
        )
