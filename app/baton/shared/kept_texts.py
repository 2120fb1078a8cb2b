"""Mask and bound the texts of a struct before it leaves the process, as the type of each field declares."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from baton.lib.text.masking import WINDOW, cut_at_word, mask, mask_and_cut, mask_and_cut_bytes, may_hold, suspicious
from baton.rules.call.kept import LONGEST_ID, OWN, TextRule
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
        self._texts: list[tuple[str, TextRule, bool]] = []
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
                self._texts.append((name, inner, several))
                window = 2 * inner.longest if several else max(WINDOW, 2 * inner.longest)
                masked, bounded = _masker(inner), _bounder(window)
                self._masks.append((name, _of_each(masked, inner.most) if several else masked))
                self._bounds.append((name, _of_each(bounded, inner.most) if several else bounded))

    def size(self, one: S) -> int:
        """Return how many characters of the struct were chosen by a client."""
        values = ((getattr(one, name), several) for name, _, several in self._texts)
        return sum(sum(map(len, value)) if several else len(value) for value, several in values)

    def bounded(self, one: S) -> S:
        """Return the struct with each string cut to over its stored length, so masking sees the stored part whole."""
        return msgspec.structs.replace(one, **{name: change(getattr(one, name)) for name, change in self._bounds})

    def masked(self, one: S) -> S:
        """Return the struct with secrets masked, and every text storable and of bounded length."""
        if self.is_kept(one):
            return one
        return msgspec.structs.replace(one, **{name: change(getattr(one, name)) for name, change in self._masks})

    def is_kept(self, one: S) -> bool:
        """Return whether masking would change nothing: true of most structs, and cheaper to find out."""
        found: dict[str, list[str]] = {"person": [], "chance": [], "none": []}
        for name, kept, several in self._texts:
            value = getattr(one, name)
            if not value:
                continue
            if several:
                if len(value) > kept.most or max(map(len, value)) > kept.longest:
                    return False
                found[kept.sharing] += value
            else:
                # Bytes are at least as many as characters.
                if len(value) > kept.longest or (
                    kept.cut == "bytes" and len(value.encode("utf-8", "surrogatepass")) > kept.longest
                ):
                    return False
                found[kept.sharing].append(value)
        changing = (*found["chance"], *found["none"])
        together = "\n".join(changing)
        if storable(together) != together or not _are_kept(*found["person"]):
            return False
        # Cached like the others, the ids of 200,000 sessions would displace the shared names.
        if may_hold("\n".join(found["none"])) or any(map(suspicious, found["chance"])):
            return False
        return all(
            all(map(texts.is_kept, getattr(one, name))) if several else texts.is_kept(getattr(one, name))
            for name, texts, several in self._nested
        )


@lru_cache(maxsize=4_096)
def _are_kept(*names: str) -> bool:
    """Return whether names are kept as they are. Cached: a person's calls have the same ones."""
    together = "\n".join(names)
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


def _bounder(window: int) -> _Change:
    return lambda text: cut_at_word(text, window)
