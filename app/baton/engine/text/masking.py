"""Mask secrets in a text before it is kept: by how they begin, by where they stand, and by a program's options."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import re2

from baton.engine.text.secrets import lines, positions, prefixes
from baton.engine.text.secrets.lines import SecretProgram
from baton.engine.text.secrets.names import is_secret_name, is_secret_value
from baton.engine.text.secrets.spans import SecretSpan

LONGEST = 2_000
"""Characters of a masked text that are kept."""
WINDOW = 16_384
"""Characters of a text that are looked at where more of it is never kept."""

_LONGEST_KNOWN = 500
_LARGEST_SET = 64 << 20
"""Bytes that the pre-filter's automaton may take; it takes a few hundred KiB."""
_Finder = tuple[str, Callable[[bytes], Iterator[SecretSpan]]]


def _token_finder(which: str) -> Callable[[bytes], Iterator[SecretSpan]]:
    return lambda data: prefixes.find(data, which)


class _Detectors:
    """The finders in use, and the pre-filter that says which of them a text needs.

    A finder comes with a pattern that is in every text that it may find something in. All patterns together are one
    RE2 set: one pass over a text, after which most texts need no finder.
    """

    def __init__(self, programs: lines.ProgramLines | None = None) -> None:
        # The first finder's name is the mask's where several find the same.
        self._finders: list[_Finder] = [(trigger, _token_finder(which)) for which, trigger in prefixes.TRIGGERS.items()]
        self._finders += positions.FINDERS.values()
        if programs is not None:
            self._finders.append((programs.trigger, programs.find))
        options = re2.Options()
        options.max_mem = _LARGEST_SET
        self._triggers = re2.Set.SearchSet(options)
        for trigger, _ in self._finders:
            self._triggers.Add(trigger.encode())
        self._triggers.Compile()

    def may_hold(self, data: bytes) -> bool:
        """Return whether a finder may find something."""
        return self._triggers.Match(_unwritten(data)) is not None

    def find(self, data: bytes) -> list[SecretSpan]:
        """Return the secrets of a text in order; those that overlap are joined."""
        data = _unwritten(data)
        found = [
            (span.start, number, span)
            for number in sorted(self._triggers.Match(data) or ())
            for span in self._finders[number][1](data)
        ]
        joined: list[SecretSpan] = []
        for _, _, span in sorted(found, key=lambda one: one[:2]):
            if joined and span.start < joined[-1].end:
                last = joined[-1]
                if span.end > last.end:
                    joined[-1] = SecretSpan(last.start, span.end, last.name, span.ends_at)
            elif span.end > span.start:
                joined.append(span)
        return joined


def _unwritten(data: bytes) -> bytes:
    r"""Return a text with white space for each written `\n`, as many bytes long.

    In JSON within a text, and in a log line, a line ends so; the letter would be taken for the next line's first.
    """
    if b"\\" not in data:
        return data
    return data.replace(b"\\n", b" \n").replace(b"\\t", b"  ").replace(b"\\r", b"  ")


_detectors = _Detectors()


def learn(programs: Mapping[str, SecretProgram]) -> None:
    """Use the programs of the shell tables from now on, by name; one process has one set of tables."""
    global _detectors  # noqa: PLW0603 - logs and records of the whole process are masked alike
    _detectors = _Detectors(lines.ProgramLines(programs) if programs else None)
    _known.cache_clear()


def may_hold(text: str) -> bool:
    """Return whether a text may hold a secret, in one pass and without remembering it."""
    return _detectors.may_hold(_encoded(text))


def suspicious(text: str) -> bool:
    """Return whether masking changes a text, or may change it where it is long."""
    return _known(text) != text if len(text) <= _LONGEST_KNOWN else may_hold(text)


def _mask(text: str) -> str:
    data, spans = find(text)
    return replaced(data, spans) if spans else text


_known = lru_cache(maxsize=4_096)(_mask)
"""Agents name the same projects, files and commands again and again."""


def _encoded(text: str) -> bytes:
    # A lone surrogate, as JSON may hold it, is no UTF-8: masking must not fail on it.
    return text.encode("utf-8", "surrogatepass")


def find(text: str) -> tuple[bytes, list[SecretSpan]]:
    """Return a text's bytes and the secrets in them."""
    data = _encoded(text)
    return data, _detectors.find(data)


def mask(text: str) -> str:
    """Replace each secret by `[masked:kind]`. Takes time linear in the text; masking twice changes nothing more.

    Mask before you cut: of a secret that is cut in two neither half can be told.
    """
    return _known(text) if len(text) <= _LONGEST_KNOWN else _mask(text)


def replaced(data: bytes, spans: list[SecretSpan], start: int = 0) -> str:
    """Return a text from a byte on, with a mask for each span."""
    parts: list[bytes] = []
    for span in spans:
        if span.end > start:
            parts += [data[start : span.start], f"[masked:{span.name}]".encode()]
            start = span.end
    return b"".join([*parts, data[start:]]).decode("utf-8", "surrogatepass")


def mask_json(value: Any) -> Any:
    """Mask every text within a JSON value: values, keys, and what stands under a key that says secret."""
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
    """Mask what stands under a secret's name, in lists and objects below it too."""
    if isinstance(value, str):
        masked = mask(value)
        return "[masked:key-value]" if masked == value and is_secret_value(value, name, quoted=True) else masked
    if isinstance(value, int) and not isinstance(value, bool):
        return "[masked:key-value]" if is_secret_value(str(value), name, quoted=True) else value
    if isinstance(value, list):
        return [_mask_named(name, part) for part in value]
    return mask_json(value)


def _mask_list(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Mask a list; texts are also read together, since they may be the words of a command."""
    if len(values) < 2 or not all(isinstance(one, str) for one in values):  # noqa: PLR2004 - a command and an argument
        return [mask_json(one) for one in values]
    data, spans = find(" ".join(values))
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
    """Cut a text that is too long to mask whole, between two words where there are any: no half of a token stays."""
    if len(text) <= longest:
        return text
    at = max(text.rfind(mark, 0, longest) for mark in " \t\n")
    return text[: at if at > 0 else longest]


def mask_and_cut(text: str, longest: int = LONGEST) -> str:
    """Mask a text, then cut it: the other way round a secret at the border would escape."""
    text = mask(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def mask_and_cut_bytes(text: str, longest: int) -> str:
    """Mask a storable text, then cut it to so many bytes of UTF-8."""
    masked = mask(text)
    encoded = masked.encode()
    if len(encoded) <= longest:
        return masked
    return encoded[: longest - len("…".encode())].decode("utf-8", "ignore") + "…"
