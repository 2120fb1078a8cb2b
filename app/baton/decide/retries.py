"""Answers that were given, for retries of their calls. It keeps them in this process: the recorder keeps them in Redis.

What reading a call's command yielded is not kept: the call tells it again.
"""

from collections import OrderedDict

import msgspec

from baton.records.pipeline.decision import Decision

REMEMBERED = 2_048
"""Answers that a process keeps to answer retries with, even while Redis is away."""
LARGEST = 65_536
"""Bytes of the largest answer that is kept; a retry of a larger one is decided again on the same prior calls."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Decision).decode

Key = tuple[str, str, str, bytes]
"""Organisation, user, session, and the name of the call."""


class Answers:
    """The latest answers, each packed: one block of memory that is cheap to drop."""

    def __init__(self) -> None:
        self._packed: OrderedDict[Key, bytes] = OrderedDict()

    def find(self, key: Key) -> Decision | None:
        """Give what a call was answered, but for the reading of its command, if it is one of the latest."""
        packed = self._packed.get(key)
        return None if packed is None else unpack(packed)

    def keep(self, key: Key, decision: Decision) -> bytes | None:
        """Keep an answer and give it packed; None for one that is too large or has text that cannot be packed."""
        bare = msgspec.structs.replace(decision, verdict=msgspec.structs.replace(decision.verdict, shell=None))
        try:
            packed = _encode(bare)
        except UnicodeEncodeError:  # half a surrogate pair
            return None
        if len(packed) > LARGEST:
            return None
        self._packed[key] = packed
        if len(self._packed) > REMEMBERED:
            self._packed.popitem(last=False)
        return packed


def unpack(packed: bytes) -> Decision:
    """Read an answer that was packed, here or by another server; it lacks the reading of the call's command."""
    return _decode(packed)
