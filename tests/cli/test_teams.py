"""`baton team`, `project`, `user` and `mode --scope` as an admin, a lead and a developer run them, with tokens."""

import json

import pytest

from tests.support.people import admin_token, token
from tests.support.server import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("teams") / "home", BATON_AUTH="on") as running:
        running.tokens = {"admin": admin_token(running)}
        with running.client(Authorization=f"Bearer {admin_token(running)}") as admin:
            for user, role, team in (("lea", "lead", "web"), ("dora", "developer", "web"), ("leo", "lead", "data")):
                running.tokens[user], _ = token(admin, user, role, team)
        yield running


@pytest.fixture
def baton(server, typed):
    """Run `baton …` with somebody's token."""
    return lambda who, *words, **more: typed(*words, BATON_TOKEN=server.tokens[who], **more)


def test_a_lead_switches_prompts_on_for_their_team_only(server, baton):
    assert "web      not kept" in baton("dora", "team", "list")
    assert "Team web keeps prompts" in baton("lea", "team", "set", "web", "--keep-prompts", "--reason", "study")
    assert "there is no team `web` whose settings you may change" in baton(
        "leo", "team", "set", "web", "--no-keep-prompts", refused=True
    )
    assert "`developer`" in baton("dora", "team", "set", "web", "--no-keep-prompts", refused=True)
    assert "nothing to set" in baton("lea", "team", "set", "web", refused=True)
    kept = {one["name"]: one["keep_prompts"] for one in json.loads(baton("dora", "team", "list", "--json"))}
    assert [kept[name] for name in ("data", "default", "web")] == [False, False, True]
    assert "study" in baton("admin", "audit", "--kind", "team")


def test_an_admin_adds_a_team_with_its_projects(baton):
    assert "Team ops exists" in baton("admin", "team", "add", "ops")
    assert "No team owns" in baton("lea", "team", "project", "list")
    assert "Team ops owns github.com/acme/shop" in baton(
        "admin", "team", "project", "set", "github.com/acme/shop", "--team", "ops"
    )
    assert baton("dora", "team", "project", "list").split()[2:] == ["ops", "github.com/acme/shop"]
    assert "`lead`" in baton("lea", "team", "project", "set", "x", "--team", "web", refused=True)
    alias = ("team", "project", "alias", "git@mirror.example:shop.git", "--of", "github.com/acme/shop")
    assert "mirror.example/shop means github.com/acme/shop" in baton("admin", *alias)
    assert "mirror.example/shop" in baton("dora", "team", "project", "list")
    assert "`lead`" in baton("lea", *alias, refused=True)
    assert "is no alias any more" in baton("admin", "team", "project", "alias", "mirror.example/shop", "--remove")
    assert "mirror.example/shop" not in baton("dora", "team", "project", "list")


def test_the_organisation_locks_the_mode_and_a_team_may_be_stricter(baton):
    locks = ("mode", "enable", "--scope", "organisation", "--locked", "--level", "guidance")
    assert "for everybody" in baton("admin", *locks, "--expires", "8h", "--reason", "review")
    assert "at scope `organisation`; allowed: `session`, `user_project`" in baton("lea", *locks, refused=True)
    assert "allowed: `session`, `user` (" in baton("dora", "freeze", "--reason", "x", refused=True)
    assert "There was no freeze of team:web to end." in baton("lea", "freeze", "--end", "--scope", "team:web")
    assert "freeze.end" not in baton("admin", "audit")
    assert "without effect: the organisation locked the mode (level: guidance)" in baton("dora", "mode", "disable")
    assert "is on (level: guidance)" in baton("dora", "mode", "status")
    assert "for team web" in baton("lea", "mode", "enable", "--scope", "team")
    assert "is on (level: strict)" in baton("dora", "mode", "status")
    assert "no team `web`" in baton("leo", "mode", "enable", "--scope", "team", "--id", "web", refused=True)
    listed = baton("dora", "mode", "list")
    assert "on, guidance" in listed
    assert "locked" in listed
    assert "for scope `organisation`" in baton("lea", "mode", "enable", "--scope", "team", "--locked", refused=True)
    assert "is on (level: guidance)" in baton("lea", "mode", "clear", "--scope", "team")
    baton("admin", "mode", "clear", "--scope", "organisation")


def test_the_mode_of_one_session_ends_by_itself(baton):
    said = baton("dora", "mode", "enable", "--scope", "session", "--id", "s1", "--expires", "30min")
    assert "for session s1 until 20" in said
    assert "baton mode disable --scope session --id s1" in said
    assert "is on (level: strict)" in baton("dora", "mode", "status", "--session", "s1")
    assert "is not used with scope `user_project`" in baton("dora", "mode", "enable", "--id", "x", refused=True)
    assert "`soon` is not a time span" in baton("dora", "mode", "enable", "--expires", "soon", refused=True)


def test_tokens_are_listed_with_their_teams(baton):
    rows = [line.split() for line in baton("admin", "token", "list").splitlines()]
    assert rows[0] == ["ID", "USER", "TEAM", "ROLE", "STATE", "LAST", "USED"]
    assert {(user, team, role) for _, user, team, role, *_ in rows[1:]} >= {
        ("lea", "web", "lead"), ("dora", "web", "developer"), ("leo", "data", "lead"),
    }  # fmt: skip
    said = baton("admin", "token", "create", "--user", "new", "--team", "wbe", refused=True)
    assert "did you mean `web`?" in said
    assert "team: - → web" in baton("admin", "audit", "--kind", "token")
