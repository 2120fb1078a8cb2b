"""Proves a person by a code that the server shows on its own terminal, where it has no socket for people.

A client asks for a code, the person reads it there and types it, and the client has ten minutes. In memory alone.
"""

import hmac
import secrets
import time
from collections.abc import Callable

import msgspec

from baton.kernel.base.errors import Conflict, Forbidden

LASTS_S = 600.0
"""How long a code, and what it proves, is good, in seconds."""
ATTEMPTS = 5
"""Wrong codes after which another must be asked for."""
MOST = 10
"""Codes in ten minutes, so that nobody can guess one, nor fill the terminal."""
_DIGITS = 8


class _Asked(msgspec.Struct):
    """A code that was shown: until when it is good, and how many attempts are left."""

    code: str
    until: float
    attempts: int = ATTEMPTS
    proof: str = ""


class TerminalCodes:
    """The codes of this process, by the ids that their clients know."""

    def __init__(self, show: Callable[[str], None] | None, now: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._now = now
        self._asked: dict[str, _Asked] = {}

    def ask(self) -> str:
        """Show a code on the terminal, and return the id by which its client sends it.

        Raises:
            Forbidden: This server proves people in another way, or has no terminal.
            Conflict: It has shown enough codes for now.
        """
        if self._show is None:
            raise Forbidden(
                "this server shows no codes: it has a socket for people, asks for tokens, or has no terminal of its own"
            )
        self._forget()
        if len(self._asked) >= MOST:
            raise Conflict(f"{MOST} codes were asked for in the last ten minutes; wait, or use `baton db admin-token`")
        code_id = secrets.token_hex(16)
        code = "".join(secrets.choice("0123456789") for _ in range(_DIGITS))
        self._asked[code_id] = _Asked(code=code, until=self._now() + LASTS_S)
        self._show(
            f"Somebody on this machine wants to do what needs a person. If that is you, type this code there: {code}"
        )
        return code_id

    def prove(self, code_id: str, code: str) -> str:
        """Return what proves the person for the rest of the ten minutes. A code is good once.

        Raises:
            Forbidden: It is another one, or there is none any more.
        """
        self._forget()
        asked = self._asked.get(code_id)
        if asked is None or not asked.attempts or asked.proof:
            raise Forbidden("there is no such code any more; ask for another")
        asked.attempts -= 1
        if not hmac.compare_digest(asked.code.encode(), code.encode()):
            raise Forbidden(f"that is not the code on the server's terminal; {asked.attempts} attempts are left")
        asked.proof = secrets.token_hex(32)
        return asked.proof

    def is_proof(self, text: str) -> bool:
        """Return whether somebody has typed a code for this less than ten minutes ago."""
        self._forget()
        given = text.encode()
        return any(one.proof and hmac.compare_digest(one.proof.encode(), given) for one in self._asked.values())

    def _forget(self) -> None:
        now = self._now()
        for code_id in [one for one, asked in self._asked.items() if asked.until <= now]:
            del self._asked[code_id]
