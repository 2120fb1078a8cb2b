"""Mask secrets in a string before it is stored: by prefix, by position and by program option."""

import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec
import re2

from baton.lib.text.secrets import lines, positions, prefixes
from baton.lib.text.secrets.lines import SecretProgram
from baton.lib.text.secrets.names import BLOCK, DOUBLE, SINGLE, WORD, SecretSpan, is_secret_name, is_secret_value

LONGEST = 2_000  # maximum length of a stored masked string, in characters
WINDOW = 16_384  # characters that are read of a string whose rest is never stored

_LONGEST_KNOWN = 500
_LARGEST_SET = 32 << 20  # maximum memory of a pre-filter's automaton, in bytes. It takes some 7 MB after 7,500 lines.
_Finder = tuple[str, positions.Finder]


class _Detectors:
    """The active finders and their pre-filter.

    Each finder has a trigger pattern, present in every string with a match. The triggers form two RE2 sets: after a pass
    of each, most strings need no finder. One automaton for all would have the product of their states: twice the memory.
    """

    def __init__(self, programs: lines.ProgramLines | None = None) -> None:
        # The first finder's name wins where several match.
        usual: list[_Finder] = [
            *((trigger, partial(prefixes.find_prefixed, which=which)) for which, trigger in prefixes.TRIGGERS.items()),
            *positions.FINDERS.values(),
        ]
        of_programs: list[_Finder] = [] if programs is None else [(programs.trigger, programs.secrets)]
        self._finders = [find for _, find in usual + of_programs]
        self._sets = [(_set(usual), 0), (_set(of_programs), len(usual))][: 1 + len(of_programs)]
        """Each with the number of its first finder."""

    def may_hold(self, data: bytes) -> bool:
        data = _unwritten(data)
        return any(triggers.Match(data) for triggers, _ in self._sets)

    def secrets(self, data: bytes) -> list[SecretSpan]:
        """Return the secrets of a string in order; overlapping ones are joined."""
        data = _unwritten(data)
        numbers = sorted(first + at for triggers, first in self._sets for at in triggers.Match(data) or ())
        found = [(span.start, number, span) for number in numbers for span in self._finders[number](data)]
        joined: list[SecretSpan] = []
        for _, _, span in sorted(found, key=lambda one: one[:2]):
            if joined and span.start < joined[-1].end:
                last = joined[-1]
                if span.end > last.end:
                    joined[-1] = SecretSpan(last.start, span.end, last.name, span.ends_at)
            elif span.end > span.start:
                joined.append(span)
        return joined


def _set(finders: list[_Finder]) -> re2.Set:
    options = re2.Options()
    options.max_mem = _LARGEST_SET
    triggers = re2.Set.SearchSet(options)
    for trigger, _ in finders:
        triggers.Add(trigger.encode())
    triggers.Compile()
    return triggers


def _unwritten(data: bytes) -> bytes:
    r"""Replace each written `\n` by white space of the same length.

    Nested JSON and log lines end lines this way. Otherwise the `n` would join the next word.
    """
    if b"\\" not in data:
        return data
    return data.replace(b"\\n", b" \n").replace(b"\\t", b"  ").replace(b"\\r", b"  ")


_detectors = _Detectors()


def learn(programs: Mapping[str, SecretProgram]) -> None:
    """Use these programs of the shell tables, by name, for the whole process."""
    global _detectors  # noqa: PLW0603 - logs and records of the whole process are masked alike
    _detectors = _Detectors(lines.ProgramLines(programs) if programs else None)
    _known.cache_clear()


def may_hold(text: str) -> bool:
    """Return whether a string may contain a secret, in one uncached pass."""
    return _detectors.may_hold(_encoded(text))


def suspicious(text: str) -> bool:
    """Return whether masking changes a string, or may change a long one."""
    return _known(text) != text if len(text) <= _LONGEST_KNOWN else may_hold(text)


def _mask(text: str) -> str:
    data, spans = find_secrets(text)
    return replaced(data, spans) if spans else text


_known = lru_cache(maxsize=4_096)(_mask)  # cached: agents repeat the same project, file and command names


def _encoded(text: str) -> bytes:
    # JSON may contain a lone surrogate, which is not valid UTF-8: masking must not fail on it.
    return text.encode("utf-8", "surrogatepass")


def find_secrets(text: str) -> tuple[bytes, list[SecretSpan]]:
    """Return a string's bytes and the secrets in them."""
    data = _encoded(text)
    return data, _detectors.secrets(data)


def mask(text: str) -> str:
    """Replace each secret by `[masked:kind]`, in linear time. Masking twice changes nothing more.

    Mask before cutting: half a secret is not recognizable.
    """
    return _known(text) if len(text) <= _LONGEST_KNOWN else _mask(text)


def replaced(data: bytes, spans: list[SecretSpan], start: int = 0) -> str:
    """Return a string from a byte offset on, with a mask for each span."""
    parts: list[bytes] = []
    for span in spans:
        if span.end > start:
            parts += [data[start : span.start], f"[masked:{span.name}]".encode()]
            start = span.end
    return b"".join([*parts, data[start:]]).decode("utf-8", "surrogatepass")


def mask_json(value: Any) -> Any:
    """Mask every string in a JSON value: values, keys, and values of keys with a secret's name."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return _mask_object(value)
    if isinstance(value, list | tuple):
        return _mask_list(value)
    return value


def _mask_object(value: Mapping[str, Any]) -> dict[str, Any]:
    named = value.get("name", value.get("key"))  # `{"name": "DB_PASSWORD", "value": …}`, as Kubernetes writes variables
    masked: dict[str, Any] = {}
    for key, part in value.items():
        name = named if key == "value" and isinstance(named, str) else key
        masked[mask(key) if isinstance(key, str) else key] = (
            _mask_named(name, part) if isinstance(name, str) and is_secret_name(name) else mask_json(part)
        )
    return masked


def _mask_named(name: str, value: Any) -> Any:
    """Mask the value of a secret's name, also in nested lists and objects."""
    if isinstance(value, str):
        masked = mask(value)
        return "[masked:key-value]" if masked == value and is_secret_value(value, name, quoted=True) else masked
    if isinstance(value, int) and not isinstance(value, bool):
        return "[masked:key-value]" if is_secret_value(str(value), name, quoted=True) else value
    if isinstance(value, list):
        return [_mask_named(name, part) for part in value]
    return mask_json(value)


def _mask_list(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Mask a list. Strings are also read together, since they may be the words of a command."""
    if len(values) < 2 or not all(isinstance(one, str) for one in values):  # noqa: PLR2004 - a command and an argument
        return [mask_json(one) for one in values]
    data, spans = find_secrets(" ".join(values))
    if not spans:
        return list(values)
    masked, start = [], 0
    for text in values:
        end = start + len(_encoded(text))
        own = [
            SecretSpan(max(span.start, start), min(span.end, end), span.name, span.ends_at)
            for span in spans
            if span.start < end and span.end > start
        ]
        masked.append(replaced(data[:end], own, start))
        start = end + 1
    return masked


def cut_at_word(text: str, longest: int) -> str:
    """Cut a string that is too long to mask whole, between two words if possible, so no half token stays."""
    if len(text) <= longest:
        return text
    at = max(text.rfind(mark, 0, longest) for mark in " \t\n")
    return text[: at if at > 0 else longest]


def mask_and_cut(text: str, longest: int = LONGEST) -> str:
    """Mask a string, then cut it: in reverse order, a secret at the border would escape."""
    text = mask(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def mask_and_cut_bytes(text: str, longest: int) -> str:
    """Mask a storable string, then cut it to a number of UTF-8 bytes."""
    masked = mask(text)
    encoded = masked.encode()
    if len(encoded) <= longest:
        return masked
    return encoded[: longest - len("…".encode())].decode("utf-8", "ignore") + "…"


# Mask secrets in a stream of chunks, without delaying a chunk.

_TAIL = 400  # streamed characters that may belong to a secret in the next chunk
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
)  # a chunk's end if a key block may end in the next chunk. Nothing more: the rest is the secret.


class StreamTail(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a stream so far.

    Attributes:
        text: The last characters, masked, so they may be stored.
        open: The terminator of the secret at the last chunk's end, or "" (`spans`).
    """

    text: str = ""
    open: str = ""


def mask_chunk(tail: StreamTail, chunk: str) -> tuple[str, StreamTail]:
    """Mask the next chunk of a stream; return it and the stream's new end.

    A secret is masked from the first chunk in which it is recognizable up to its end. At most a meaningless prefix was
    sent before.
    """
    if not chunk:
        return chunk, tail
    if tail.open:
        end = _end_of(tail, chunk)
        if end < 0:
            return "", _inside(tail, chunk)
        tail = StreamTail(text=tail.text if tail.open != BLOCK else "")
        chunk = chunk[end:]
    data, spans = find_secrets(tail.text + chunk)
    start = len(tail.text.encode("utf-8", "surrogatepass"))
    spans = [span for span in spans if span.end > start]
    masked = replaced(data, spans, start)
    left = (tail.text + masked)[-_TAIL:]
    if spans and spans[-1].end == len(data):
        opened = spans[-1].ends_at
        return masked, _inside(StreamTail(open=BLOCK), chunk) if opened == BLOCK else StreamTail(text=left, open=opened)
    return masked, StreamTail(text=left)


def _end_of(tail: StreamTail, chunk: str) -> int:
    if tail.open != BLOCK:
        found = _ENDS[tail.open].search(chunk)
        return found.start() if found else -1
    found = _BLOCK_END.search(tail.text + chunk)
    return max(0, found.end() - len(tail.text)) if found else -1


def _inside(tail: StreamTail, chunk: str) -> StreamTail:
    """Return the end of a stream within a secret: of a key block, only a possible start of its last line."""
    if tail.open != BLOCK:
        return tail
    begun = _MAY_END_BLOCK.search((tail.text + chunk)[-100:])
    return StreamTail(text=begun[0] if begun else "", open=BLOCK)
