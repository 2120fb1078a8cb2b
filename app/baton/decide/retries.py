"""The latest answers, so that a retried call gets the answer of its first attempt."""

from collections import OrderedDict

import msgspec

from baton.engine.text.masking import suspicious
from baton.records.pipeline.decision import Decision

REMEMBERED = 2_048
"""Answers that a process keeps, so that retries are answered even while Redis is away."""
LARGEST = 65_536
"""Bytes of the largest answer that is kept; a retry of a larger one is decided again on the same history."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Decision).decode

CallKey = tuple[str, str, str, bytes]
"""Organisation, user, session, and the name of the call; b"" for a call that the client did not name."""


class AnswerCache:
    """The latest answers of this process. Redis keeps them for the other processes, with the call's record."""

    def __init__(self) -> None:
        self._packed: OrderedDict[CallKey, bytes] = OrderedDict()

    def find(self, key: CallKey) -> Decision | None:
        """Return what a call was answered, without the reading of its command; None if it is not known here."""
        packed = self._packed.get(key)
        return None if packed is None else unpack(packed)

    def keep(self, key: CallKey, decision: Decision) -> bytes | None:
        """Keep an answer and return it packed; None for one that is too large or cannot be packed."""
        # The reading of the command is left out: it is large, and the retried call brings the command again.
        bare = msgspec.structs.replace(decision, verdict=msgspec.structs.replace(decision.verdict, shell=None))
        try:
            # Packed, not as objects: one block of memory that the garbage collector never walks.
            packed = _encode(bare)
        except (UnicodeEncodeError, TypeError):  # half a surrogate pair, or a number that no float holds
            return None
        if len(packed) > LARGEST:
            return None
        self._packed[key] = packed
        if len(self._packed) > REMEMBERED:
            self._packed.popitem(last=False)
        return packed


def may_leave(decision: Decision, packed: bytes, command: str) -> bool:
    """Return whether a packed answer may leave this process: a reason, or a changed input, may quote a secret of the call.

    An answer that stays is decided again on the same history where another process is asked.
    """
    verdict = decision.verdict
    quotes = verdict.reason or verdict.guidance or verdict.suggestion or verdict.updated_input
    # A reason quotes a part of the command, in which the program that tells of the secret may be missing.
    return not quotes or not (suspicious(command) or suspicious(packed.decode("utf-8", "replace")))


def unpack(packed: bytes) -> Decision:
    """Unpack an answer that this or another server kept; it has no reading of the call's command."""
    return _decode(packed)
