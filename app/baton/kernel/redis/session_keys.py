"""How the keys of an agent's session are named in Redis."""

from functools import lru_cache
from hashlib import blake2b

from baton.engine.call.principal import Principal


def digest(*parts: str) -> bytes:
    """Return a name of 32 hexadecimal digits for these parts, whatever characters and lengths they have."""
    # With the lengths, ("ab", "c") and ("a", "bc") get different names.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode(), digest_size=16).hexdigest().encode()


def session_tag(principal: Principal, session_id: str) -> bytes:
    """Return a hash tag that names a session of one user of one organisation, so that a cluster keeps its keys together.

    A delegated agent's sessions have names of their own: its token must not write into its owner's other sessions.
    """
    user = f"{principal.user} {principal.job}" if principal.job else principal.user
    return _tag(principal.organisation, user, session_id)


def place_key(tag: bytes) -> bytes:
    """Return the key of a session's project and root, by the session's tag."""
    return b"baton:place:" + tag


@lru_cache(maxsize=4_096)
def _tag(organisation: str, user: str, session_id: str) -> bytes:
    return b"{%b}" % digest(organisation, user, session_id)
