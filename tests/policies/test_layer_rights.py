"""Permissions to change a layer, and so to lift its rules."""

import pytest

from baton.kernel.base.errors import Forbidden, NotFound
from baton.policies.in_force import may_write, require_write
from baton.rules.call.call import Principal
from tests.support.cases import every

DORA = Principal(user="dora", team="red")
LEAD = Principal(user="lea", team="red", role="lead")
TEAMLESS_LEAD = Principal(user="lou", team="", role="lead")
ADMIN = Principal(user="root", team="ops", role="admin")
AUDITOR = Principal(user="ava", team="red", role="auditor")
RUNNER = Principal(user="run", team="red", role="runner")

CASES = [
    # who, tier, name, team of the project, what is raised
    (ADMIN, "organisation", "-", "", None),
    (ADMIN, "shipped", "", "", None),
    (ADMIN, "team", "red", "", None),
    (ADMIN, "user", "dora", "", None),
    (LEAD, "team", "red", "", None),
    (LEAD, "team", "blue", "", NotFound),
    (LEAD, "project", "shop", "red", None),
    (LEAD, "project", "shop", "blue", Forbidden),
    (LEAD, "project", "shop", "", Forbidden),
    (LEAD, "organisation", "-", "", Forbidden),
    (LEAD, "user", "lea", "", None),
    (LEAD, "user", "dora", "", NotFound),
    (TEAMLESS_LEAD, "team", "", "", Forbidden),
    (TEAMLESS_LEAD, "project", "shop", "", Forbidden),
    (TEAMLESS_LEAD, "organisation", "-", "", Forbidden),
    (DORA, "user", "dora", "", None),
    (DORA, "user", "eve", "", NotFound),
    (DORA, "team", "red", "", Forbidden),
    (DORA, "project", "shop", "red", Forbidden),
    (AUDITOR, "user", "ava", "", Forbidden),
    (RUNNER, "user", "run", "", Forbidden),
]


@every(("principal", "tier", "name", "team_of_project", "refusal"), CASES)
def test_a_layer_is_changed_by_its_permitted_roles(principal, tier, name, team_of_project, refusal):
    assert may_write(principal, tier, name, team_of_project=team_of_project) == (refusal is None)
    if refusal is None:
        require_write(principal, tier, name, team_of_project=team_of_project)
    else:
        with pytest.raises(refusal):
            require_write(principal, tier, name, team_of_project=team_of_project)
