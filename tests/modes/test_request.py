"""The setting meant by a mode request, by caller, and refusals."""

import pytest

from baton.kernel.base.errors import Forbidden, Invalid, NotFound, PersonRequired
from baton.modes.request import ModeTarget, principal_of, refuse_lock, target
from baton.people.users import covers
from baton.rules.call.call import Principal
from baton.shared.caller import Caller
from tests.support.cases import every

TEAMS = {"ada": "web", "bob": "web", "eve": "api"}


class Directory:
    """Ada and Bob in `web`, Eve in `api`; `acme/shop` is of `web`, `acme/core` of `api`."""

    def covers(self, principal, action, user):
        return covers(principal, action, user=user, team=TEAMS.get(user, ""))

    def team_of(self, user):
        return TEAMS.get(user, "")

    def project_team(self, project):
        return {"acme/shop": "web", "acme/core": "api"}.get(project, "")


def asked(role, scope, *, id="", user="", project="", at="acme/shop"):  # noqa: A002 - the field's name
    caller = Caller(principal=Principal(user="ada", team="web", role=role), project=at)
    return target(caller, Directory(), scope, id, user, project)


MEANT = [
    ("developer", "session", {"id": "s"}, ModeTarget(scope="session", id="s", user="ada", project="acme/shop")),
    ("developer", "user_project", {"project": "x"}, ModeTarget(scope="user_project", user="ada", project="x")),
    ("developer", "user_project", {}, ModeTarget(scope="user_project", user="ada", project="acme/shop")),
    (
        "developer",
        "user_project",
        {"project": "x", "at": ""},
        ModeTarget(scope="user_project", user="ada", project="x"),
    ),
    ("lead", "team", {}, ModeTarget(scope="team", id="web")),
    ("lead", "team", {"id": "web"}, ModeTarget(scope="team", id="web")),
    ("lead", "user", {"id": "bob"}, ModeTarget(scope="user", id="bob")),
    ("lead", "project", {"id": "acme/shop", "at": ""}, ModeTarget(scope="project", id="acme/shop")),
    ("lead", "project", {}, ModeTarget(scope="project", id="acme/shop")),
    ("admin", "team", {"id": "api"}, ModeTarget(scope="team", id="api")),
    ("admin", "session", {"id": "s"}, ModeTarget(scope="session", id="s", project="acme/shop")),
    ("admin", "organisation", {}, ModeTarget(scope="organisation")),
]


@every(("role", "scope", "given", "meant"), MEANT)
def test_a_request_means_one_setting(role, scope, given, meant):
    assert asked(role, scope, **given) == meant


REFUSED = [
    ("developer", "team", {}, Forbidden, "scope `team`"),
    ("developer", "project", {}, Forbidden, "scope `project`"),
    ("developer", "user", {"id": "bob"}, NotFound, "`bob`"),
    ("developer", "session", {"id": "s", "user": "bob"}, NotFound, "`bob`"),
    ("lead", "organisation", {}, Forbidden, "scope `organisation`"),
    ("lead", "team", {"id": "api"}, NotFound, "`api`"),
    ("lead", "project", {"id": "acme/core"}, NotFound, "`acme/core`"),
    ("lead", "user", {"id": "eve"}, NotFound, "`eve`"),
    ("auditor", "user", {}, Forbidden, "`auditor`"),
    ("lead", "project", {"at": ""}, Invalid, "id"),
    ("developer", "session", {}, Invalid, "id"),
    ("developer", "user_project", {"at": ""}, Invalid, "project"),
    ("developer", "user_project", {"id": "x"}, Invalid, "id"),
    ("developer", "user", {"user": "ada"}, Invalid, "user"),
    ("developer", "session", {"id": "s", "project": "x"}, Invalid, "project"),
]


@every(("role", "scope", "given", "error", "words"), REFUSED)
def test_an_invalid_request_is_refused_with_the_reason(role, scope, given, error, words):
    with pytest.raises(error) as refused:
        asked(role, scope, **given)
    named = refused.value.errors[0].field if error is Invalid else refused.value.detail
    assert words in named


@every(("scope", "locked", "refused"), [("organisation", True, False), ("team", False, False), ("team", True, True)])
def test_only_the_organisation_s_setting_may_be_locked(scope, locked, refused):
    if refused:
        with pytest.raises(Invalid):
            refuse_lock(scope, locked=locked)
    else:
        refuse_lock(scope, locked=locked)


@every(("user", "team"), [("", "web"), ("ada", "web"), ("eve", "api"), ("nobody-yet", "web")])
def test_another_s_mode_uses_their_team_or_the_caller_s(user, team):
    admin = Caller(principal=Principal(user="ada", team="web", role="admin"))
    assert principal_of(admin, Directory(), user) == Principal(user=user or "ada", team=team, role="admin")


def test_the_mode_of_an_unknown_user_is_not_found():
    with pytest.raises(NotFound, match="`eve`"):
        principal_of(Caller(principal=Principal(user="ada", team="web")), Directory(), "eve")


@every(("role", "error"), [("admin", PersonRequired), ("lead", PersonRequired), ("developer", Forbidden)])
def test_an_agent_of_somebody_who_may_is_sent_to_the_person_and_not_to_another_role(role, error):
    caller = Caller(principal=Principal(user="ada", team="web", role=role, agent=True), project="acme/shop")
    with pytest.raises(Forbidden) as refused:
        target(caller, Directory(), "team", "", "", "")
    assert type(refused.value) is error
