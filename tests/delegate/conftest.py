"""The fixtures of delegated jobs: a database that is emptied, not copied, and the services on it."""

from tests.support.fixtures.delegating import database, kept_url, world

__all__ = ["database", "kept_url", "world"]
