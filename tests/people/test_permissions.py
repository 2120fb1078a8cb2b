"""The table of permissions: the reach of each role, and the covered people."""

import msgspec
import pytest

from baton.kernel.base.errors import Forbidden, PersonRequired
from baton.people.users import covers, reach, require
from baton.rules.call.call import Principal
from tests.support.cases import every


def person(role, *, user="ada", team="web"):
    return Principal(user=user, team=team, role=role)


REACHES = [
    ("developer", "decisions.read", "own"),
    ("lead", "decisions.read", "team"),
    ("admin", "decisions.read", "organisation"),
    ("auditor", "decisions.read", "organisation"),
    ("runner", "jobs.run", "own"),
    ("developer", "rosters.write", None),
    ("auditor", "modes.write", None),
    ("runner", "modes.write", None),
]


@every(("role", "action", "expected"), REACHES)
def test_a_role_reaches_as_far_as_the_table_says(role, action, expected):
    assert reach(person(role), action) == expected
    if expected is not None:
        assert require(person(role), action) == expected


OF_AGENTS = [
    ("developer", "calls.make", "own"),
    ("admin", "modes.write", "own"),
    ("admin", "decisions.read", "organisation"),
    ("lead", "decisions.read", "team"),
    ("admin", "policies.write", None),
    ("admin", "tokens.create", None),
    ("auditor", "modes.write", None),
]


@every(("role", "action", "expected"), OF_AGENTS)
def test_an_agents_credential_works_and_reads_and_does_nothing_else(role, action, expected):
    agent = msgspec.structs.replace(person(role), agent=True)
    assert reach(agent, action) == expected


@pytest.mark.parametrize(("action", "refused"), [("policies.write", PersonRequired), ("audit.read", Forbidden)])
def test_an_agent_is_sent_to_a_person_only_where_a_person_could_help(action, refused):
    with pytest.raises(refused) as raised:
        require(msgspec.structs.replace(person("lead"), agent=True), action)
    assert type(raised.value) is refused


def test_a_role_without_a_permission_is_refused_with_the_roles_that_have_it():
    with pytest.raises(Forbidden) as refused:
        require(person("developer"), "rosters.write")
    for name in ("`developer`", "`rosters.write`", "`lead`", "`admin`"):
        assert name in refused.value.detail


COVERS = [
    ("a developer's own", person("developer"), "ada", "web", True),
    ("a developer's own after a change of team", person("developer"), "ada", "api", True),
    ("a colleague's, to a developer", person("developer"), "bob", "web", False),
    ("a lead's own, without a team", person("lead", team=""), "ada", "", True),
    ("a colleague's, to their lead", person("lead"), "bob", "web", True),
    ("another team's, to a lead", person("lead"), "bob", "api", False),
    ("a person without a team, to a lead", person("lead"), "bob", "", False),
    ("two without a team are no team", person("lead", team=""), "bob", "", False),
    ("a team's, to a lead without one", person("lead", team=""), "bob", "web", False),
    ("anybody's, to an admin", person("admin"), "bob", "api", True),
    ("what an auditor may not write", person("auditor"), "ada", "web", False),
]


@every(("principal", "user", "team", "expected"), [row[1:] for row in COVERS], ids=[row[0] for row in COVERS])
def test_the_reach_of_a_permission(principal, user, team, expected):
    assert covers(principal, "modes.write", user=user, team=team) is expected
