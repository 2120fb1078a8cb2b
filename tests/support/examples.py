"""The number of generated examples of a test: all in `make test-all`, a fifth in `make test`."""

from hypothesis import settings

MANY = 50
"""The profile of `make test-all` has more examples than this, that of `make test` fewer."""


def examples(thorough):
    """Return the settings of a test that tries so many examples where there is time."""
    return settings(max_examples=thorough if settings.default.max_examples > MANY else max(5, thorough // 5))
