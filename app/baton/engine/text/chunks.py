"""Mask secrets in a text that arrives in chunks, without holding a chunk back."""

import re

import msgspec

from baton.engine.text import masking
from baton.engine.text.secrets.spans import BLOCK, DOUBLE, SINGLE, WORD

_TAIL = 400
"""Characters of what was streamed that may belong to a secret in the next chunk."""
_ENDS = {
    WORD: re.compile(r"[\s\"'`;&|<>(){},\\]"),
    DOUBLE: re.compile(r'["\n]'),
    SINGLE: re.compile(r"['\n]"),
    "line": re.compile(r"[\"'\n]"),
}
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]*-----|---- END [A-Z0-9 ]*----|Private-MAC: [0-9a-f]*")
_MAC = "Private-MAC: "
_MAY_END_BLOCK = re.compile(
    rf"(?:-{{1,5}}|-{{4,5}} ?|-{{4,5}} ?E|-{{4,5}} ?EN|-{{4,5}} ?END(?: [A-Z0-9 ]{{0,60}}-{{0,4}})?"
    rf"|{'|'.join(_MAC[:size] for size in range(1, len(_MAC)))}|{_MAC}[0-9a-f]{{0,80}})\Z"
)
"""What a chunk of a key block may end with if the block ends in the next one: no more, for the rest is the secret."""


class StreamTail(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a stream ended so far.

    Attributes:
        text: Its last characters, masked, so that they may be kept.
        open: What ends the secret that the last chunk ended in, "" for none (`spans`).
    """

    text: str = ""
    open: str = ""


def mask_chunk(tail: StreamTail, chunk: str) -> tuple[str, StreamTail]:
    """Mask the next chunk of a stream; return it and the stream's new end.

    A secret is masked in the chunk in which it can first be told, and in those behind it up to its end. What was sent
    before that is at most a prefix that says nothing.
    """
    if not chunk:
        return chunk, tail
    if tail.open:
        end = _end_of(tail, chunk)
        if end < 0:
            return "", _inside(tail, chunk)
        tail = StreamTail(text=tail.text if tail.open != BLOCK else "")
        chunk = chunk[end:]
    data, spans = masking.find(tail.text + chunk)
    start = len(tail.text.encode("utf-8", "surrogatepass"))
    spans = [span for span in spans if span.end > start]
    masked = masking.replaced(data, spans, start)
    left = (tail.text + masked)[-_TAIL:]
    if spans and spans[-1].end == len(data):
        opened = spans[-1].ends_at
        return masked, _inside(StreamTail(open=BLOCK), chunk) if opened == BLOCK else StreamTail(text=left, open=opened)
    return masked, StreamTail(text=left)


def _end_of(tail: StreamTail, chunk: str) -> int:
    """Return where in a chunk the open secret ends, -1 if it does not."""
    if tail.open != BLOCK:
        found = _ENDS[tail.open].search(chunk)
        return found.start() if found else -1
    found = _BLOCK_END.search(tail.text + chunk)
    return max(0, found.end() - len(tail.text)) if found else -1


def _inside(tail: StreamTail, chunk: str) -> StreamTail:
    """Return the end of a stream that is still in a secret: of a key block, only what may begin its last line."""
    if tail.open != BLOCK:
        return tail
    begun = _MAY_END_BLOCK.search((tail.text + chunk)[-100:])
    return StreamTail(text=begun[0] if begun else "", open=BLOCK)
