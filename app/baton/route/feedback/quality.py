"""How well prompts are routed: how many led to an agent, a shortlist or none, and how often people called that right."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.periods import start_of
from baton.kernel.base.time.time_buckets import start_of_bucket
from baton.people.row_scope import row_scope
from baton.route.feedback import quality_store as store
from baton.route.feedback.quality_store import FeedbackCount, QualityFilter, RouteCount

LONGEST_PERIOD = timedelta(days=366)


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """Routed prompts, and what people said of them.

    Attributes:
        confident: Prompts whose agent was told of one agent.
        shortlist: Those whose agent was told of a few to choose from.
        none: Those whose agent was told of none.
        tiers: Prompts by what decided.
        judged: Pieces of feedback that were given in that time, also on earlier prompts.
        accuracy: The share of `right` in `judged`, from 0 to 1; 0 without feedback.
    """

    prompts: int
    confident: int
    shortlist: int
    none: int
    tiers: dict[str, int]
    judged: int
    right: int
    false_routes: int
    missed: int
    accuracy: float


class DayQuality(Quality, frozen=True, kw_only=True):
    """The prompts and the feedback of the day (UTC) that begins `at`."""

    at: datetime


class QualityReport(msgspec.Struct, frozen=True, kw_only=True):
    """A period as a whole, and its days that have any prompt or feedback, oldest first."""

    since: datetime
    until: datetime
    total: Quality
    days: list[DayQuality]


class RouteQuality:
    """Sums up how well prompts were routed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
        self,
        principal: Principal,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str = "",
        team: str = "",
    ) -> QualityReport:
        """Sum up a period, the last seven days without `since`.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is away or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        start, end = start_of(since, until), until or datetime.now(UTC)
        if end - start > LONGEST_PERIOD:
            raise Invalid("since", f"is more than {LONGEST_PERIOD.days} days before the end of the period")
        wanted = QualityFilter(since=start, until=end, user=user, team=team)
        try:
            routes = await store.routes(self._database, principal.organisation, scope, wanted)
            said = await store.feedback(self._database, principal.organisation, scope, wanted)
        except DatabaseUnavailable:
            raise StoreUnavailable("routes cannot be summed up now; try a shorter period, or later") from None
        routes_of: dict[str, list[RouteCount]] = defaultdict(list)
        said_of: dict[str, list[FeedbackCount]] = defaultdict(list)
        for route in routes:
            routes_of[route.day].append(route)
        for feedback in said:
            said_of[feedback.day].append(feedback)
        days = [
            DayQuality(at=start_of_bucket(day, "day"), **msgspec.structs.asdict(_summed(routes_of[day], said_of[day])))
            for day in sorted({*routes_of, *said_of})
        ]
        return QualityReport(since=start, until=end, total=_summed(routes, said), days=days)


def _summed(routes: Sequence[RouteCount], said: Sequence[FeedbackCount]) -> Quality:
    told: Counter[str] = Counter()
    tiers: Counter[str] = Counter()
    for one in routes:
        told[one.told] += one.count
        tiers[one.tier] += one.count
    judged, right = sum(one.judged for one in said), sum(one.right for one in said)
    return Quality(
        prompts=told.total(),
        confident=told["agent"],
        shortlist=told["shortlist"],
        none=told["none"],
        tiers=dict(sorted(tiers.items())),
        judged=judged,
        right=right,
        false_routes=sum(one.false_routes for one in said),
        missed=sum(one.missed for one in said),
        accuracy=round(right / judged, 4) if judged else 0.0,
    )
