"""Round the time that a decision took, so that there are few different times however many decisions there are."""

_STEPS_US = (1, 10, 100, 1_000, 10_000, 100_000)
"""The times to which others are rounded down, in microseconds: two digits each; the last one stands for all slower ones."""


def rounded_us(us: int) -> int:
    """Return a time rounded down to two digits."""
    return us - us % width_us(us)


def width_us(us: int) -> int:
    """Return the width, in microseconds, of the bucket of times that begins at `us`."""
    return next((step for step in _STEPS_US if us < 100 * step), _STEPS_US[-1])
