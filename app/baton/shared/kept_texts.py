"""Mask and bound the texts of a struct before it leaves the process, as the type of each field declares."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, le
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from baton.lib.text.masking import WINDOW, cut_at_word, mask, mask_and_cut, mask_and_cut_bytes, may_hold, suspicious
from baton.rules.call.kept import LONGEST_ID, MOST_PATHS, OWN, TextRule
from baton.shared.storable import storable

S = TypeVar("S", bound=msgspec.Struct)
_Change = Callable[[Any], Any]


class KeptTexts(Generic[S]):
    """The stored part of the strings of one type of struct.

    Raises:
        TypeError: If a field is text without a declaration (`TextRule`): no new field is stored unmasked.
    """

    def __init__(self, kind: type[S]) -> None:
        self._masks: list[tuple[str, _Change]] = []
        self._bounds: list[tuple[str, _Change]] = []
        rules: dict[str, TextRule] = {}
        self._lists: dict[str, TextRule] = {}
        self._nested: list[tuple[str, KeptTexts[Any], bool]] = []
        for name, hint in get_type_hints(kind, include_extras=True).items():
            inner, several = _inner(hint)
            if inner is str:
                raise TypeError(
                    f"`{kind.__name__}.{name}` is a text: declare with `TextRule` how it is masked and bounded"
                )
            if isinstance(inner, type):
                kept: KeptTexts[Any] = KeptTexts(inner)
                self._nested.append((name, kept, several))
                self._masks.append((name, _of_each(kept.masked) if several else kept.masked))
                self._bounds.append((name, _of_each(kept.bounded) if several else kept.bounded))
            elif inner is not None and inner is not OWN:
                (self._lists if several else rules)[name] = inner
                window = 2 * inner.longest if several else max(WINDOW, 2 * inner.longest)
                masked, bounded = _masker(inner), partial(cut_at_word, longest=window)
                self._masks.append((name, _of_each(masked, inner.most) if several else masked))
                self._bounds.append((name, _of_each(bounded, inner.most) if several else bounded))
        names = list(rules)
        self._read: Callable[[S], tuple[str, ...]] = (
            attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)
        )
        self._longest = [rules[name].longest for name in names]
        self._in_bytes = {name: rule.longest for name, rule in rules.items() if rule.cut == "bytes"}

    def bounded(self, one: S) -> S:
        """Return the struct with each string cut to over its stored length, so masking sees the stored part whole."""
        return msgspec.structs.replace(one, **{name: change(getattr(one, name)) for name, change in self._bounds})

    def masked(self, one: S) -> S:
        """Return the struct with secrets masked, and every text storable and of bounded length. A huge one is cut first."""
        if self.is_kept(one):
            return one
        if sum(map(len, self.texts(one))) > WINDOW:
            one = self.bounded(one)
        return msgspec.structs.replace(one, **{name: change(getattr(one, name)) for name, change in self._masks})

    def is_kept(self, one: S) -> bool:
        """Return whether masking would change nothing: true of most structs, and cheaper to find out."""
        texts = self.texts(one)
        together = "\n".join(texts)
        are_short = len(texts) <= MOST_PATHS and max(map(len, texts)) <= LONGEST_ID
        if storable(together) != together or not (are_short or self.are_short(one)):
            return False
        # Looked for in all at once, nothing is cached: the ids of 200,000 sessions would displace the names.
        return not may_hold(together) or not any(map(suspicious, texts))

    def texts(self, one: S) -> list[str]:
        """Return all texts, those of inner structs too."""
        texts = list(self._read(one))
        for name in self._lists:
            texts += getattr(one, name)
        for name, kept, several in self._nested:
            value = getattr(one, name)
            for part in value if several else (value,):
                texts += kept.texts(part)
        return texts

    def are_short(self, one: S) -> bool:
        """Return whether each text is short enough to be kept whole."""
        return (
            all(map(le, map(len, self._read(one)), self._longest))
            and all(len(getattr(one, name).encode()) <= most for name, most in self._in_bytes.items())
            and all(
                len(texts := getattr(one, name)) <= rule.most and max(map(len, texts), default=0) <= rule.longest
                for name, rule in self._lists.items()
            )
            and all(
                kept.are_short(part)
                for name, kept, several in self._nested
                for part in (getattr(one, name) if several else (getattr(one, name),))
            )
        )


def _inner(hint: Any) -> tuple[Any, bool]:
    """Return a field's content: `TextRule`, a struct's type, `str` for undeclared text, else None; and whether several."""
    if get_origin(hint) is Annotated:
        declared = next((one for one in get_args(hint)[1:] if isinstance(one, TextRule)), None)
        return declared or _inner(get_args(hint)[0])[0], False
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return _inner(get_args(hint)[0])[0], True
    if hint is str or (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
        return hint, False
    parts = () if get_origin(hint) is Literal else get_args(hint)
    return (str if any(_inner(part)[0] is str for part in parts) else None), False


def _of_each(change: _Change, most: int | None = None) -> _Change:
    def changed(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(change(value) for value in values[:most])

    return changed


def _masker(kept: TextRule) -> _Change:
    if kept.cut == "bytes":
        return lambda text: mask_and_cut_bytes(storable(text), kept.longest)
    if kept.cut == "ellipsis":
        return lambda text: mask_and_cut(storable(text), kept.longest)
    return lambda text: mask(storable(text))[: kept.longest]
