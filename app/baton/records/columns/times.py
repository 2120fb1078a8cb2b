"""Round the time that a decision took, so that any number of decisions has few different times."""

_STEPS_US = (1, 10, 100, 1_000, 10_000, 100_000)
"""What times are rounded down to, in microseconds: each keeps two digits, and the last one all that is slower."""


def rounded_us(us: int) -> int:
    """Return a time rounded down to two digits."""
    return us - us % width_us(us)


def width_us(us: int) -> int:
    """Return how many microseconds the times that are counted together lie apart, the least of them being `us`."""
    return next((step for step in _STEPS_US if us < 100 * step), _STEPS_US[-1])
