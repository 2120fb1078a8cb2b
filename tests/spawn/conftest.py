"""The fixtures of task graphs with delegated jobs."""

from tests.support.fixtures.delegating import database, kept_url, world

__all__ = ["database", "kept_url", "world"]
