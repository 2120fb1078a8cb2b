"""The token that the hooks use: one of role `hook`, made with the person's own, which is never written into a file."""

import os
import platform
import re
from typing import NamedTuple

from baton.local import person_token
from baton.local.config import Config
from baton.local.server import Api, ApiError

_SHAPE = re.compile(r"baton_([0-9a-f]{12})_[0-9a-f]{64}")
_LONGEST = 200


class HookToken(NamedTuple):
    """What goes into the config file, "" to leave it as it is, and what the person is told."""

    text: str = ""
    notes: tuple[str, ...] = ()


def hook_token(config: Config) -> HookToken:
    """Return the token for the hooks of this machine.

    A token of the environment, of the keyring or of `baton unlock` makes one of role `hook`; so does a person's token in the
    config file, which is replaced. A token that is for hooks already is kept.
    """
    own = person_token.with_token(config).token
    if config.token and not os.environ.get("BATON_TOKEN") and _role(config.token) == "hook":
        return HookToken()
    if not own:
        return HookToken()
    if not _SHAPE.fullmatch(own):  # another server's, or a proxy's: no person's token of Baton
        return HookToken(own if own == os.environ.get("BATON_TOKEN") else "")
    if _role(own) == "hook":
        return HookToken(own)
    machine = platform.node()[:_LONGEST] or "unnamed"
    try:
        made = Api(token=own).request("POST", "/tokens/hook", body={"machine": machine})
    except ApiError as error:
        kept = "Your own token was not written to the config file, as agents read that. Run `baton hooks install` again then."
        return HookToken(notes=(f"No token was made for the hooks: {error}", kept))
    said = f"The hooks have a token of their own: `{made['token']['id']}`, role `hook`, for `{machine}`. It weakens nothing."
    mine = "Yours is in no file; `baton login` keeps it in the keyring, `baton unlock` for ten minutes."
    return HookToken(made["text"], (said, mine))


def _role(token: str) -> str:
    """Return a token's role, "" where the server cannot say."""
    shape = _SHAPE.fullmatch(token)
    if shape is None:
        return ""
    try:
        known = Api(token=token).pages("/tokens", {})
    except ApiError:
        return ""
    return next((str(one["role"]) for one in known if one["id"] == shape[1]), "")
