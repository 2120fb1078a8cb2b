"""`/policies/schema` and `/policies/test`: what an editor of policies needs while somebody types."""

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from baton.engine.policy.load import LayerTrial
from baton.engine.policy.rules.files import shown
from baton.engine.policy.schema import json_schema
from baton.kernel.http.features import of
from baton.people.callers import AUTHENTICATED, CallerOf
from baton.people.rate_limits import WORK
from baton.policies.bodies import PolicyProblemModel
from baton.policies.layers import PolicyLayers, place
from baton.policies.layers_api import ValidateBody

router = APIRouter(tags=["policies"], dependencies=[AUTHENTICATED])
PolicyLayersOf = Annotated[PolicyLayers, Depends(of(PolicyLayers))]


class PolicySchemasModel(BaseModel):
    """The JSON Schema (2020-12) of each kind of policy file."""

    rule: dict[str, Any]
    config: dict[str, Any]
    roster: dict[str, Any]


class RuleTestResultModel(BaseModel):
    """What became of one test of a rule; `failure` is absent for one that passes."""

    file: str
    line: int
    rule: str
    group: Literal["match", "not_match"]
    index: int
    call: str
    passed: bool
    failure: str | None = None


class PolicyTestModel(BaseModel):
    """What became of a layer's tests. `accepted`: the layer could be uploaded as it is; otherwise `problems` says why not.

    Where a file cannot be read no test is run, and `revision` is absent.
    """

    accepted: bool
    revision: str | None = None
    rules: int
    problems: list[PolicyProblemModel]
    tests: list[RuleTestResultModel]
    changes: dict[str, str] = Field(
        description="What changes in the active version, where you may read it: a unified diff of each file."
    )

    @classmethod
    def of(cls, trial: LayerTrial, changes: dict[str, str]) -> "PolicyTestModel":
        """Show a trial as the API does: files by their paths in the layer."""
        tests = [
            RuleTestResultModel(
                file=_path(source),
                line=line,
                rule=result.rule,
                group=result.group,
                index=result.index,
                call=result.call,
                passed=not result.failure,
                failure=result.failure or None,
            )
            for result, source, line in trial.tests
        ]
        return cls(
            accepted=not trial.problems,
            revision=trial.policies.revision if trial.policies is not None else None,
            rules=len(trial.policies.rules) if trial.policies is not None else 0,
            problems=[
                PolicyProblemModel(file=_path(one.file), line=one.line, text=one.text) for one in shown(trial.problems)
            ],
            tests=tests,
            changes=changes,
        )


def _path(source: str) -> str:
    """Return the path in its layer of a file of which the source is given."""
    return source.rpartition(":")[2]


@cache
def _schemas() -> PolicySchemasModel:
    return PolicySchemasModel(**json_schema())


@router.get("/policies/schema", operation_id="get_policy_schema")
async def get_policy_schema() -> PolicySchemasModel:
    """Return the JSON Schema of each kind of policy file, for editors: of rules, of `config.yaml`, of `agents/*.yaml`.

    Loading checks more than a schema can say; `POST /policies/test` says all of it.
    """
    return _schemas()


@router.post("/policies/test", operation_id="test_policies", response_model_exclude_none=True, dependencies=[WORK])
async def test_policies(caller: CallerOf, layers: PolicyLayersOf, body: ValidateBody) -> PolicyTestModel:
    """Run the tests of a layer that is being written, over what is active now; nothing is stored.

    What is wrong with it is part of the answer: problems by file and line, and every test with what became of it.
    """
    where = place(caller.principal, body.tier, body.name, caller.project)
    trial = await layers.test(where, body.files)
    return PolicyTestModel.of(trial, await layers.changes(caller.principal, where, body.files))
