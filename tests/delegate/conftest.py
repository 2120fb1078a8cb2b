"""The fixtures of delegated jobs: an emptied, not copied, database, and the services on it."""

from tests.support.fixtures.delegating import database, kept_url, world

__all__ = ["database", "kept_url", "world"]
