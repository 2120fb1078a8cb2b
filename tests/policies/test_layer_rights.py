"""Who may write which layer, by role, team and the layer's tier."""

import pytest

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, NotFound
from baton.policies.layer_rights import may_read, require_write

WEB_LEAD = Principal(user="lea", team="web", role="lead")
LEAD_WITHOUT_A_TEAM = Principal(user="lee", team="", role="lead")
DEVELOPER = Principal(user="ada", team="web", role="developer")
ADMIN = Principal(user="root", team="ops", role="admin")

WRITES = [
    ("an admin, the organisation's", ADMIN, "organisation", "-", "", None),
    ("an admin, any project's", ADMIN, "project", "shop", "web", None),
    ("a lead, their own", WEB_LEAD, "user", "lea", "", None),
    ("a lead, their team's", WEB_LEAD, "team", "web", "", None),
    ("a lead, their team's project's", WEB_LEAD, "project", "shop", "web", None),
    ("a lead, another team's project's", WEB_LEAD, "project", "core", "api", Forbidden),
    ("a lead, nobody's project's", WEB_LEAD, "project", "free", "", Forbidden),
    ("a lead, the organisation's", WEB_LEAD, "organisation", "-", "", Forbidden),
    ("a lead, another team's", WEB_LEAD, "team", "api", "", NotFound),
    ("a lead, a colleague's", WEB_LEAD, "user", "ada", "", NotFound),
    ("a lead without a team, nobody's project's", LEAD_WITHOUT_A_TEAM, "project", "free", "", Forbidden),
    ("a lead without a team, the team without a name", LEAD_WITHOUT_A_TEAM, "team", "", "", Forbidden),
    ("a developer, their own", DEVELOPER, "user", "ada", "", None),
    ("a developer, their team's", DEVELOPER, "team", "web", "", Forbidden),
    ("a developer, their team's project's", DEVELOPER, "project", "shop", "web", Forbidden),
    ("an auditor, their own", Principal(user="aud", team="web", role="auditor"), "user", "aud", "", Forbidden),
]


@pytest.mark.parametrize(
    ("principal", "tier", "name", "team_of_project", "error"),
    [row[1:] for row in WRITES],
    ids=[row[0] for row in WRITES],
)
def test_a_layer_is_written_by_whom_it_is_for(principal, tier, name, team_of_project, error):
    if error is None:
        require_write(principal, tier, name, team_of_project=team_of_project)
        return
    with pytest.raises(error):
        require_write(principal, tier, name, team_of_project=team_of_project)


READS = [
    (DEVELOPER, "organisation", "-", True),
    (DEVELOPER, "project", "core", True),
    (DEVELOPER, "team", "web", True),
    (DEVELOPER, "team", "api", False),
    (DEVELOPER, "user", "ada", True),
    (DEVELOPER, "user", "bob", False),
    (ADMIN, "user", "bob", True),
    (Principal(user="aud", role="auditor"), "team", "api", True),
]


@pytest.mark.parametrize(("principal", "tier", "name", "seen"), READS)
def test_a_layer_is_read_by_whom_it_concerns(principal, tier, name, seen):
    assert may_read(principal, tier, name) is seen
