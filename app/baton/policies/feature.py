"""Builds the effective policy sets and their layers, and keeps them in sync with disk and SQL."""

import msgspec

from baton.kernel.kernel import Kernel, PeriodicTask
from baton.people.users import Users
from baton.policies.agent_tables import AgentTables
from baton.policies.in_force import KIND, Policies
from baton.policies.layers import PolicyLayers
from baton.policies.unlocks import Unlocks
from baton.shared import policy_folders


class PoliciesFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The effective rules and their layers."""

    policies: Policies
    layers: PolicyLayers
    agent_tables: AgentTables
    unlocks: Unlocks


async def build(kernel: Kernel, users: Users) -> PoliciesFeature:
    """Load and compile all policies. Raise PolicyProblems or DatabaseUnavailable."""
    policies = Policies(policy_folders.shipped(), kernel.settings.policies, kernel.database, kernel.organisation)
    await policies.load_layers()
    kernel.changes.on(KIND, policies.load_layers, policies.load_some)
    kernel.run(policies.watch)
    kernel.every(PeriodicTask("end of unlocks", 1, lambda _: policies.expire()))
    layers = PolicyLayers(kernel.database, policies, kernel.changes, users)
    return PoliciesFeature(
        policies=policies,
        layers=layers,
        agent_tables=AgentTables(policies, layers),
        unlocks=Unlocks(policies, kernel.changes, users, organisation=kernel.organisation),
    )
