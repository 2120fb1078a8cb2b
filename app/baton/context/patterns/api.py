"""`/patterns`: the knowledge of a team. Everyone may propose; leads and admins approve, retire and merge."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from baton.context.patterns.bodies import (
    ApproveBody,
    MergeBody,
    NewPatternBody,
    PatternMatches,
    PatternPage,
    PatternQuery,
    PatternSearch,
    ProposedPatterns,
    RetireBody,
    ShownPattern,
)
from baton.context.patterns.in_force import INDEX
from baton.context.patterns.learning import PatternLearning
from baton.context.patterns.pattern import Pattern, PatternFilter
from baton.context.patterns.service import Patterns
from baton.kernel.http.features import of
from baton.kernel.http.paging import IfMatch, after, etag, page
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN, EXPENSIVE

router = APIRouter(tags=["patterns"])
PatternsOf = Annotated[Patterns, Depends(of(Patterns))]
LearningOf = Annotated[PatternLearning, Depends(of(PatternLearning))]
PatternId = Annotated[str, Path(min_length=1, max_length=100)]


def _tagged(pattern: Pattern, response: Response) -> Pattern:
    response.headers["ETag"] = etag(pattern.version)
    return pattern


@router.post("/patterns", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN])
async def propose_pattern(
    caller: CallerOf, users: UsersOf, patterns: PatternsOf, body: NewPatternBody, response: Response
) -> ShownPattern:
    """Propose a pattern for your team. It is used once a lead or an admin has approved it."""
    await users.check_known(caller, "team", body.team)
    await users.check_known(caller, "project", body.project)
    return _tagged(await patterns.propose(caller.principal, body.proposal(), body.team), response)


@router.post("/patterns/proposals", response_model_exclude_none=True, dependencies=[ADMIN, EXPENSIVE])
async def propose_from_records(
    caller: CallerOf, learning: LearningOf, team: Annotated[str, Query(max_length=200)] = ""
) -> ProposedPatterns:
    """Propose patterns from repetitions in your team's last 30 days: check commands, corrected routes.

    Former proposals are omitted, including declined ones.
    """
    return ProposedPatterns(items=list(await learning.propose(caller.principal, team)))


@router.get("/patterns", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_patterns(caller: CallerOf, patterns: PatternsOf, query: Annotated[PatternQuery, Query()]) -> PatternPage:
    """List your team's patterns, newest first; admins and auditors see those of all teams."""
    (before_id,) = after(query.cursor)
    found = await patterns.find(
        caller.principal, PatternFilter(**query.filters()), before_id=before_id, limit=query.limit + 1
    )
    items, next_cursor = page(found, query.limit, lambda pattern: (pattern.id,))
    return PatternPage(items=list(items), next_cursor=next_cursor)


@router.get("/patterns/search", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def search_patterns(
    caller: CallerOf, patterns: PatternsOf, query: Annotated[PatternSearch, Query()]
) -> PatternMatches:
    """Find your team's patterns in force that match a string, by meaning and by words."""
    found = await patterns.search(
        caller.principal, query.text, team=query.team, project=query.project, limit=query.limit
    )
    return PatternMatches(items=found, index=INDEX, degraded=patterns.degraded)


@router.get("/patterns/{pattern_id}", response_model_exclude_none=True)
async def get_pattern(
    caller: CallerOf, patterns: PatternsOf, pattern_id: PatternId, response: Response
) -> ShownPattern:
    """Show one pattern."""
    return _tagged(await patterns.get(caller.principal, pattern_id), response)


@router.post("/patterns/{pattern_id}/approve", response_model_exclude_none=True, dependencies=[ADMIN])
async def approve_pattern(
    caller: CallerOf,
    patterns: PatternsOf,
    pattern_id: PatternId,
    body: ApproveBody,
    response: Response,
    if_match: IfMatch = None,
) -> ShownPattern:
    """Put a pattern in force. `If-Match` must name its current version; its confidence learning restarts."""
    approved = await patterns.approve(
        caller.principal, pattern_id, confidence=body.confidence, reason=body.reason, version=if_match
    )
    return _tagged(approved, response)


@router.post("/patterns/{pattern_id}/retire", response_model_exclude_none=True, dependencies=[ADMIN])
async def retire_pattern(
    caller: CallerOf,
    patterns: PatternsOf,
    pattern_id: PatternId,
    body: RetireBody,
    response: Response,
    if_match: IfMatch = None,
) -> ShownPattern:
    """Take a pattern out of force, or decline a proposal. `If-Match` must name its current version."""
    retired = await patterns.retire(caller.principal, pattern_id, reason=body.reason, version=if_match)
    return _tagged(retired, response)


@router.post("/patterns/{pattern_id}/merge", response_model_exclude_none=True, dependencies=[ADMIN])
async def merge_pattern(
    caller: CallerOf,
    patterns: PatternsOf,
    pattern_id: PatternId,
    body: MergeBody,
    response: Response,
    if_match: IfMatch = None,
) -> ShownPattern:
    """Retire a pattern in favour of another, which is returned. `If-Match` must name the first one's version."""
    merged = await patterns.merge(caller.principal, pattern_id, body.into, reason=body.reason, version=if_match)
    return _tagged(merged, response)
