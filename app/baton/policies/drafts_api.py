"""`/policies/schema` and `/policies/test`: support for policy editors."""

from functools import cache
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from baton.kernel.http.fields import Shown
from baton.lib.text.yaml_lines import Fault
from baton.people.callers import AUTHENTICATED, CallerOf
from baton.people.rate_limits import WORK
from baton.policies.layers import place
from baton.policies.layers_api import PolicyLayersOf, ValidateBody
from baton.rules.policy.load import LayerTrial
from baton.rules.policy.rules.files import shown
from baton.rules.policy.rules.model import json_schema

router = APIRouter(tags=["policies"], dependencies=[AUTHENTICATED])


class PolicySchemasModel(BaseModel):
    """The JSON Schema (2020-12) of each kind of policy file."""

    rule: dict[str, Any]
    config: dict[str, Any]
    roster: dict[str, Any]


class RuleTestResultModel(BaseModel):
    """The result of one rule test. `failure` is absent if it passed."""

    file: str
    line: int
    rule: str
    group: Literal["match", "not_match"]
    index: int
    call: str
    passed: bool
    failure: str | None = None


class PolicyTestModel(BaseModel):
    """The results of a layer's tests. `accepted`: the layer can be uploaded; otherwise see `problems`.

    If a file cannot be parsed, no test runs and `revision` is absent.
    """

    accepted: bool
    revision: str | None = None
    rules: int
    problems: list[Shown[Fault]]
    tests: list[RuleTestResultModel]
    changes: dict[str, str] = Field(
        description="A unified diff per file against the active version, if you may read it."
    )

    @classmethod
    def build(cls, trial: LayerTrial, changes: dict[str, str]) -> "PolicyTestModel":
        """Convert a trial, with paths relative to the layer."""
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
                Shown[Fault](file=_path(one.file), line=one.line, text=one.text) for one in shown(trial.problems)
            ],
            tests=tests,
            changes=changes,
        )


def _path(source: str) -> str:
    return source.rpartition(":")[2]


@cache
def _schemas() -> PolicySchemasModel:
    return PolicySchemasModel(**json_schema())


@router.get("/policies/schema")
async def get_policy_schema() -> PolicySchemasModel:
    """Return the JSON Schema of policy files, for editors. `POST /policies/test` checks more."""
    return _schemas()


@router.post("/policies/test", response_model_exclude_none=True, dependencies=[WORK])
async def test_policies(caller: CallerOf, layers: PolicyLayersOf, body: ValidateBody) -> PolicyTestModel:
    """Test a draft layer on top of the active ones, without storing it. Return all problems and test results."""
    where = place(caller.principal, body.tier, body.name, caller.project)
    trial = await layers.test(where, body.files)
    return PolicyTestModel.build(trial, await layers.changes(caller.principal, where, body.files))
