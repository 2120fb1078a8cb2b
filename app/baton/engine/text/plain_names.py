"""Which names of files and symbols may be kept and shown: one visible line without markup and without a secret."""

from collections.abc import Iterable

from baton.engine.text.masking import mask, may_hold
from baton.engine.text.quoting import visible

_MARKUP = frozenset("`\n\t<>")


def is_plain(name: str) -> bool:
    """Return whether a name may be kept."""
    return name != "" and not _MARKUP & set(name) and visible(name) == name and mask(name) == name


def first_odd(names: Iterable[str]) -> str | None:
    """Return the first name that may not be kept, None if all may. Usual names are looked at all together."""
    listed = list(names)
    together = "\n".join(listed)
    usual = (
        "" not in listed
        and together.count("\n") == max(0, len(listed) - 1)  # no line break within a name
        and not _MARKUP & (set(together) - {"\n"})
        and visible(together) == together
        and not may_hold(together)
    )
    return None if usual else next((name for name in listed if not is_plain(name)), None)
