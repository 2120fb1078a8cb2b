"""The delegation share: the delegated part of the calls, by session, user, team or day.

It counts calls, not money, because prices differ by contract.
"""

from typing import Any

from baton.kernel.base.clock import period_of
from baton.kernel.base.sql import Database, StoreErrors
from baton.people.users import row_scope
from baton.policies.in_force import Policies
from baton.records.review.delegation_share import store
from baton.records.review.delegation_share.groups import After, By, CallGroup, GroupFilter
from baton.rules.agents.plan import WRAPPERS
from baton.rules.call.call import MODELS, Principal

__all__ = ["After", "By", "CallGroup", "DelegationShare", "cheaper", "share"]

TIERS = ("haiku", "sonnet", "opus", "fable")
"""The models of agent calls, from the cheapest tier to the dearest."""
SPAWN_TOOLS = frozenset(
    {"spawn_agent", "collaborationspawn_agent", "delegate_to_agent", "task"}
    | {f"mcp__baton__{name}" for name in ("agent_spawn", "delegate_run", "graph_spawn")}
    | {f"mcp__baton__{name}" for name in WRAPPERS}
)
"""Tools that delegate, besides those of `agent_tools`: of clients, and Baton's own."""


class DelegationShare:
    """Sums up the calls visible to a principal: their own, their team's, or the organisation's."""

    def __init__(self, database: Database, policies: Policies) -> None:
        self._database = database
        self._policies = policies

    async def summarize(
        self, principal: Principal, wanted: dict[str, Any], by: By, *, after: After, limit: int
    ) -> list[CallGroup]:
        """Return the sums by group for fields of `GroupFilter`, the group of the newest call first.

        Raises:
            Forbidden: If the role may not.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is unavailable or takes too long.
        """
        theirs = row_scope(principal, "analytics.read")
        since, _ = period_of(wanted["since"], wanted["until"])
        with StoreErrors("delegation cannot be summed up now; try a shorter period, or later"):
            return await store.find_groups(
                self._database,
                principal.organisation,
                theirs,
                GroupFilter(**wanted | {"since": since}),
                by,
                agent_tools=self._policies.active.agent_tools | SPAWN_TOOLS,
                after=after,
                limit=limit,
            )


def share(group: CallGroup) -> float:
    """Return the delegated share of the unblocked calls, from 0 to 1; 0 if there were none."""
    made = group.delegated + group.direct
    return round(group.delegated / made, 4) if made else 0.0


def cheaper(group: CallGroup, parent: str) -> int:
    """Return how many agent calls were given a model of a cheaper tier than the `parent` model."""
    below = TIERS[: TIERS.index(parent)]
    return sum(count for model, count in group.injected.items() if model in below)


assert set(TIERS) == MODELS  # noqa: S101 - a model without a tier would be counted nowhere
