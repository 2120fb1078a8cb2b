"""The texts in a tool's input, whatever their keys, up to a limit that is counted in work and not in texts."""

from collections.abc import Iterator
from typing import Any

MOST_WORK = 1 << 17
"""Characters of one input that are looked at. A call beyond it is asked about (`has_more_texts`): what stands behind a
thousand padding texts must not be what nobody read."""
_EACH = 32
"""What a text costs besides its characters: most of the work is done once for each."""
_LONG = 1_024
"""Characters of one text that count. Nothing does more than search a longer one once, so a large file costs no more."""


def input_texts(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Yield the texts of an input, with `keys` also the keys of inner objects, until the limit is reached."""
    work = 0
    waiting = [value]
    first = True
    while waiting and work <= MOST_WORK:
        value = waiting.pop()
        work += _EACH
        if isinstance(value, str):
            work += min(len(value), _LONG)
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
            if keys and not first:
                waiting += value.keys()
        elif isinstance(value, list):
            waiting += value
        first = False


def has_more_texts(value: Any) -> bool:
    """Return whether an input has more texts than are looked at."""
    work = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        work += _EACH + (min(len(value), _LONG) if isinstance(value, str) else 0)
        if work > MOST_WORK:
            return True
        if isinstance(value, dict):
            waiting += value.values()
            waiting += value.keys()
        elif isinstance(value, list):
            waiting += value
    return False
