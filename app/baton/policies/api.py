"""`GET /policies`: the active policy set, and the problems of a newer one."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, Shown
from baton.lib.text.yaml_lines import Fault
from baton.people.callers import AUTHENTICATED, CallerOf
from baton.policies.in_force import Policies
from baton.policies.layer_versions import Revision


class RuleModel(BaseModel):
    """A rule of the active set."""

    id: str
    description: str
    decision: str
    modes: list[str]
    enabled: bool
    shadow: bool = Field(description="It is evaluated and recorded, without effect.")
    locked: bool = Field(description="Uploaded layers may only tighten it.")
    lock: str = Field(description="Its lock in config.yaml: an id or a pattern; empty without one.")
    unlocked: str = Field(description="The unlock that applies to you: person, end and reason; empty without one.")


class PoliciesModel(BaseModel):
    """The active policy set."""

    revision: str
    loaded_at: datetime
    rules: list[RuleModel]
    problems: list[Shown[Fault]]


router = APIRouter(tags=["policies"], dependencies=[AUTHENTICATED])
PoliciesOf = Annotated[Policies, Depends(of(Policies))]


@router.get("/policies")
async def get_policies(
    caller: CallerOf, policies: PoliciesOf, project: Annotated[str, Query(max_length=1_024), PROJECT] = ""
) -> PoliciesModel:
    """Show your revision and rules in a project, with your team's and your own layers."""
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
        problems=list(policies.problems_for(caller.principal)),
    )


@router.get("/policies/revisions")
async def list_policy_revisions(policies: PoliciesOf) -> list[Shown[Revision]]:
    """List the active revisions, latest first."""
    return await policies.history()


@router.get("/policies/revisions/{revision}")
async def get_policy_revision(caller: CallerOf, policies: PoliciesOf, revision: str) -> dict[str, str]:
    """Return the files of a revision by path; a layer's as `tier/name:path`."""
    return await policies.texts(caller.principal, revision)
