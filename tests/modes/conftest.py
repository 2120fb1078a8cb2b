"""The modes of one server on a real database, at a time set by tests."""

from datetime import UTC, datetime

import pytest

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.modes.service import Modes
from baton.people.users import Users
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from baton.shared.caller import Caller

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PROJECT = "github.com/acme/shop"
ALICE = Caller(principal=Principal(user="alice", team="web"), project=PROJECT)
BOB = Caller(principal=Principal(user="bob", team="web"), project=PROJECT)
LEAD = Caller(principal=Principal(user="lead", team="web", role="lead"), project=PROJECT)
ALICE_AS_ADMIN = Caller(principal=Principal(user="alice", team="web", role="admin"), project=PROJECT)


def unheard(database):
    """Changes that nobody else is told of."""
    return Changes(Redis("unix:///nowhere", timeout_s=1), database, "default")


NOBODY = Users(None, unheard(None), organisation="default", team="web")


@pytest.fixture
async def modes(tmp_path, database_url):
    database = Database(Settings(home=tmp_path, database_url=database_url))
    moment = [NOON]
    service = Modes(database, unheard(database), organisation="default", auto_level="strict", now=lambda: moment[0])
    service.moment = moment
    yield service
    await database.close()


def setting(scope, *, enabled, **fields):
    names = {
        "team": {"id": "web"},
        "project": {"id": PROJECT},
        "user": {"id": "alice"},
        "user_project": {"user": "alice", "project": PROJECT},
        "session": {"id": "s1", "user": "alice"},
    }
    return ModeSetting(scope=scope, enabled=enabled, **(names.get(scope, {}) | fields))


def mode_of(modes, caller, session_id="s1"):
    return modes.effective(caller.principal, PROJECT, session_id)
