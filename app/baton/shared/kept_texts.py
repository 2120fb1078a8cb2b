"""Mask and bound the texts of a struct before it leaves the process, as the type of each field declares."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import attrgetter, le
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from baton.lib.text.masking import WINDOW, cut_at_word, mask, mask_and_cut, mask_and_cut_bytes, may_hold, suspicious
from baton.rules.call.kept import LONGEST_ID, OWN, TextRule
from baton.shared.storable import storable

S = TypeVar("S", bound=msgspec.Struct)
_Change = Callable[[Any], Any]
_SHARINGS = ("person", "chance", "none")


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
                texts: KeptTexts[Any] = KeptTexts(inner)
                self._nested.append((name, texts, several))
                self._masks.append((name, _of_each(texts.masked) if several else texts.masked))
                self._bounds.append((name, _of_each(texts.bounded) if several else texts.bounded))
            elif inner is not None and inner is not OWN:
                (self._lists if several else rules)[name] = inner
                window = 2 * inner.longest if several else max(WINDOW, 2 * inner.longest)
                masked, bounded = _masker(inner), partial(cut_at_word, longest=window)
                self._masks.append((name, _of_each(masked, inner.most) if several else masked))
                self._bounds.append((name, _of_each(bounded, inner.most) if several else bounded))
        # Sorted, so that all single texts are read at once and divided by two cuts: each record is checked.
        names = sorted(rules, key=lambda name: _SHARINGS.index(rules[name].sharing))
        sharings = [rules[name].sharing for name in names]
        self._cuts = sharings.count("person"), len(names) - sharings.count("none")
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
        if self._size(one) > WINDOW:
            one = self.bounded(one)
        return msgspec.structs.replace(one, **{name: change(getattr(one, name)) for name, change in self._masks})

    def is_kept(self, one: S) -> bool:
        """Return whether masking would change nothing: true of most structs, and cheaper to find out."""
        found: dict[str, list[str]] = {sharing: [] for sharing in _SHARINGS}
        if not self.collect(one, found):
            return False
        together = "\n".join(found["chance"] + found["none"])
        if storable(together) != together or not _are_kept(*found["person"]):
            return False
        # Cached like the others, the ids of 200,000 sessions would displace the shared names.
        return not (may_hold("\n".join(filter(None, found["none"]))) or any(map(suspicious, found["chance"])))

    def collect(self, one: S, found: dict[str, list[str]]) -> bool:
        """Add all texts to those of their sharing. Return whether each is short enough to be kept whole."""
        values = self._read(one)
        first, second = self._cuts
        found["person"] += values[:first]
        found["chance"] += values[first:second]
        found["none"] += values[second:]
        are_short = all(map(le, map(len, values), self._longest))
        for name, longest in self._in_bytes.items():
            are_short &= len(getattr(one, name).encode("utf-8", "surrogatepass")) <= longest
        for name, rule in self._lists.items():
            if texts := getattr(one, name):
                found[rule.sharing] += texts
                are_short &= len(texts) <= rule.most and max(map(len, texts)) <= rule.longest
        for name, kept, several in self._nested:
            value = getattr(one, name)
            for part in value if several else (value,):
                are_short &= kept.collect(part, found)
        return are_short

    def _size(self, one: S) -> int:
        """Return how many characters of the struct were chosen by a client."""
        return sum(map(len, self._read(one))) + sum(sum(map(len, getattr(one, name))) for name in self._lists)


@lru_cache(maxsize=4_096)
def _are_kept(*names: str) -> bool:
    """Return whether names are kept as they are. Cached: a person's calls have the same ones."""
    together = "\n".join(filter(None, names))
    longest = max(map(len, names), default=0)
    return longest <= LONGEST_ID and storable(together) == together and not suspicious(together)


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
