"""`GET /policies`: the active policy set, and what keeps a newer one from becoming active."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from baton.kernel.http.features import of
from baton.people.callers import AUTHENTICATED, CallerOf
from baton.policies.bodies import PoliciesModel, PolicyProblemModel, RevisionModel, RuleModel
from baton.policies.in_force import Policies

router = APIRouter(tags=["policies"], dependencies=[AUTHENTICATED])
PoliciesOf = Annotated[Policies, Depends(of(Policies))]


@router.get("/policies", operation_id="get_policies")
async def get_policies(
    caller: CallerOf, policies: PoliciesOf, project: Annotated[str, Query(max_length=1_024)] = ""
) -> PoliciesModel:
    """Show the revision and the rules that hold for you in a project, with the layers of your team and your own."""
    status = policies.status
    in_force = await policies.prepare(caller.principal, project or caller.project, wait_s=None)
    locks = in_force.policies.locks
    return PoliciesModel(
        revision=in_force.policies.revision,
        loaded_at=status.loaded_at,
        rules=[
            RuleModel(
                id=rule.id,
                description=rule.description,
                decision=rule.decision,
                modes=sorted(rule.modes),
                enabled=rule.enabled,
                shadow=rule.shadow,
                locked=rule.id in in_force.policies.locked,
                lock=locks.locked.get(rule.id, ""),
                unlocked=locks.unlocked.get(rule.id, ""),
            )
            for rule in in_force.policies.rules
        ],
        problems=[PolicyProblemModel.of(one) for one in policies.problems_for(caller.principal)],
    )


@router.get("/policies/revisions", operation_id="list_policy_revisions")
async def list_policy_revisions(policies: PoliciesOf) -> list[RevisionModel]:
    """List the revisions that were active, the latest first."""
    return [
        RevisionModel(revision=one.revision, first_at=one.first_at, activated_at=one.activated_at)
        for one in await policies.history()
    ]


@router.get("/policies/revisions/{revision}", operation_id="get_policy_revision")
async def get_policy_revision(caller: CallerOf, policies: PoliciesOf, revision: str) -> dict[str, str]:
    """Return the texts of a revision by path; those of a layer come as `tier/name:path`."""
    return await policies.texts(caller.principal, revision)
