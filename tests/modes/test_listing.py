"""The settings visible to a person, and the effect of each filter."""

import pytest

from baton.kernel.base.errors import Forbidden
from baton.modes.listing import ModeFilter, ModeList
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from tests.support.cases import every

SETTINGS = {
    "all": ModeSetting(scope="organisation"),
    "web": ModeSetting(scope="team", id="web", enabled=True),
    "api": ModeSetting(scope="team", id="api"),
    "nobody's project": ModeSetting(scope="project", id="acme/free"),
    "web's project": ModeSetting(scope="project", id="acme/shop"),
    "api's project": ModeSetting(scope="project", id="acme/core"),
    "ada": ModeSetting(scope="user", id="ada"),
    "bob": ModeSetting(scope="user", id="bob"),
    "eve": ModeSetting(scope="user", id="eve"),
    "ada at shop": ModeSetting(scope="user_project", user="ada", project="acme/shop"),
    "ada's session": ModeSetting(scope="session", user="ada", id="s1", project="acme/core"),
    "a session set by ada": ModeSetting(scope="session", id="s2", set_by="ada"),
}
TEAMS = {"ada": "web", "bob": "web", "eve": "api"}


class Directory:
    """Ada and Bob in `web`, Eve in `api`; a project of each team."""

    def team_of(self, user):
        return TEAMS.get(user, "")

    def project_team(self, project):
        return {"acme/shop": "web", "acme/core": "api"}.get(project, "")


class InForce:
    """The settings above, as the service holds them."""

    settings = tuple(SETTINGS.values())


def names(principal, wanted=None, after=(), limit=100):
    listing = ModeList(InForce(), Directory())
    found = listing.find(principal, wanted or ModeFilter(), after=after, limit=limit)
    return {name for name, setting in SETTINGS.items() if setting in found}


OPEN = {"all", "nobody's project"}
WEB = {"web", "web's project"}
ADAS = {"ada", "ada at shop", "ada's session", "a session set by ada"}
VISIBLE = [
    ("a developer", Principal(user="ada", team="web", role="developer"), OPEN | WEB | ADAS),
    ("a colleague", Principal(user="bob", team="web", role="developer"), OPEN | WEB | {"bob"}),
    ("their lead", Principal(user="lea", team="web", role="lead"), OPEN | WEB | ADAS | {"bob"}),
    ("another team's", Principal(user="eve", team="api", role="developer"), OPEN | {"api", "api's project", "eve"}),
    ("an admin", Principal(user="root", team="ops", role="admin"), set(SETTINGS)),
]


@every(("principal", "expected"), [row[1:] for row in VISIBLE], ids=[row[0] for row in VISIBLE])
def test_a_person_sees_their_own_settings(principal, expected):
    assert names(principal) == expected


FILTERS = [
    ("scope", {"scope": "team"}, {"web", "api"}),
    ("id", {"id": "web"}, {"web"}),
    ("id and scope", {"id": "ada", "scope": "team"}, set()),
    ("whose", {"user": "ada"}, ADAS),
    ("whose, never a team of that name", {"user": "web"}, set()),
    ("project", {"project": "acme/core"}, {"api's project", "ada's session"}),
    ("a team is no project", {"project": "web"}, set()),
    ("on", {"enabled": True}, {"web"}),
    ("off", {"enabled": False, "scope": "team"}, {"api"}),
]


@every(("wanted", "expected"), [row[1:] for row in FILTERS], ids=[row[0] for row in FILTERS])
def test_a_filter_keeps_matching_rows(wanted, expected):
    admin = Principal(user="root", team="ops", role="admin")
    assert names(admin, ModeFilter(**wanted)) == expected


def test_a_page_starts_after_the_previous_one():
    admin, listing = Principal(user="root", role="admin"), ModeList(InForce(), Directory())
    found, after = [], ()
    while page := listing.find(admin, ModeFilter(), after=after, limit=5):
        assert len(page) <= 5
        found, after = found + page, page[-1].key
    assert found == sorted(SETTINGS.values(), key=lambda setting: setting.key)


def test_a_role_without_the_permission_is_refused():
    with pytest.raises(Forbidden):
        ModeList(InForce(), Directory()).find(Principal(role="nobody"), ModeFilter(), after=(), limit=1)
