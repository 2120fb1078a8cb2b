"""No upload loosens a guardrail's denial or question, or changes a tool's input."""

import json
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.lint import facts_of
from baton.rules.policy.load import PolicyProblems, Unlock, extend, fitting, layered, load
from baton.rules.policy.rules.files import Layer
from baton.rules.policy.rules.model import Case
from tests.support.attacks import attacks
from tests.support.examples import examples
from tests.support.shipped import shipped, shipped_files

RANK = {"abstain": 0, "allow": 0, "rewrite": 0, "ask": 1, "deny": 2}
TIERS = ("organisation", "team", "project", "user")
NAMES = {"organisation": "uploaded", "team": "web", "project": "shop", "user": "ann"}
_MADE = [one for kind in ("rewrite", "loosen") for one in attacks("colleagues", kind)]
UPLOADS = [(one, tier) for one in _MADE for tier in one.get("tiers", TIERS)]
AT_ONE_TIER = {
    (one["name"], one.get("tiers", TIERS)[at % len(one.get("tiers", TIERS))]) for at, one in enumerate(_MADE)
}
"""Each upload at one tier, another one in turn; that of the other tiers is asked about in the slow tests."""


def written(path, content):
    """Write a file of an upload; a rule gets what every rule must have."""
    if path == "config.yaml" or path.startswith("shell/"):
        return json.dumps(content)
    tool = next(iter(content["match"].get("tools", ["x"])), "x") if isinstance(content["match"], dict) else "x"
    tool = content["match"]["tools"] if isinstance(content["match"]["tools"], str) else tool
    rule = {"id": path.removesuffix(".yaml"), "description": "x", "reason": "x"} | content
    rule["tests"] = {"match": [{"tool": tool.replace("*", "mcp__a")}], "not_match": [{"tool": "Other"}]}
    if tool == "*":
        rule["unless"] = {"tools": "Never"}
        rule["tests"]["not_match"] = [{"tool": "Never"}]
    return json.dumps(rule)


def layer(one, tier):
    files = {path: written(path, content) for path, content in one["upload"].items()}
    return Layer(tier=tier, name=NAMES[tier], origin="upload", files=files)


@cache
def guarded():
    """The calls of the guardrails' own tests, with what the shipped policies say of each."""
    rules = [rule for rule in shipped().rules if rule.id.startswith("guardrails/")]
    cases = [(rule, Case(bash=one) if isinstance(one, str) else one) for rule in rules for one in rule.tests.match]
    calls = [facts_of(case, rule) for rule, case in cases]
    return [(facts, RANK[evaluate(shipped(), facts).effect]) for facts in calls]


def loosened(policies):
    return [facts.call.tool_input for facts, rank in guarded() if RANK[evaluate(policies, facts).effect] < rank]


def test_every_guardrail_is_locked_and_its_tests_are_guarded():
    assert {rule.id for rule in shipped().rules if rule.id.startswith("guardrails/")} == shipped().locked
    assert len(guarded()) > 100
    assert all(rank for _, rank in guarded())


@pytest.mark.matrix(2)
@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    ("one", "tier"),
    [
        pytest.param(
            one,
            tier,
            id=f"{tier}: {one['name']}",
            marks=[] if (one["name"], tier) in AT_ONE_TIER else pytest.mark.slow("builds the policies of each tier"),
        )
        for one, tier in UPLOADS
    ],
)
def test_an_upload_is_refused_or_harmless(one, tier):
    upload = layer(one, tier)
    if one["want"] == "refused":
        with pytest.raises(PolicyProblems) as refused:
            extend(shipped(), [upload])
        assert not all(problem.text.startswith("the test `") for problem in refused.value.problems)
    else:
        extend(shipped(), [upload])
    # What fits of it is in force all the same: a lock, or an unlock's end, may come after the upload.
    policies, _ = fitting(shipped(), [upload], ())
    assert loosened(policies) == []
    for tool, tool_input in (("Bash", {"command": "ls"}), ("Edit", {"file_path": "a"}), ("mcp__a", {"prompt": "p"})):
        call = ToolCall(client="x", session_id="s", tool_name=tool, tool_input=tool_input, cwd="/repo")
        assert evaluate(policies, Facts(call=call)).updated_input is None


PIECES = st.lists(st.sampled_from(UPLOADS), min_size=2, max_size=4)


@examples(25)
@given(PIECES, st.sampled_from(["off", "guidance", "strict"]))
def test_no_mixture_of_uploads_loosens_a_guardrail(uploads, level):
    layers = {}
    for one, tier in uploads:
        files = layer(one, tier).files
        before = layers.get(tier)
        layers[tier] = Layer(
            tier=tier, name=NAMES[tier], origin="upload", files=(before.files if before else {}) | files
        )
    policies, _ = fitting(shipped(), [layers[tier] for tier in TIERS if tier in layers], ())
    for facts, rank in guarded()[:: 1 if level == "strict" else 5]:
        asked = msgspec.structs.replace(facts, level=level, lifted=frozenset({"*", "guardrails/remove-root"}))
        assert RANK[evaluate(policies, asked).effect] >= rank


def test_an_unlock_applies_to_its_pattern_only():
    off = {"upload": {"config.yaml": {"rules": {"guardrails/force-push": "off"}}}}
    unlocks = [Unlock(pattern="guardrails/force-*", note="by ada")]
    for tier in TIERS:
        policies = extend(shipped(), [layer(off, tier)], unlocks)
        assert {rule.id for rule in policies.rules if not rule.enabled and rule.id.startswith("guardrails/")} == {
            "guardrails/force-push"
        }
        assert policies.locked == shipped().locked - {"guardrails/force-push", "guardrails/force-push-unnamed"}
        assert policies.locks.unlocked["guardrails/force-push"] == "by ada"
        with pytest.raises(PolicyProblems, match="locked `guardrails/fork-bomb`"):
            extend(
                shipped(),
                [layer({"upload": {"config.yaml": {"rules": {"guardrails/fork-bomb": "off"}}}}, tier)],
                unlocks,
            )


def test_the_operators_files_are_bound_by_no_lock():
    files = {"config.yaml": "rules: {guardrails/force-push: off}\nlists: {clients: [nobody]}\n"}
    own = load(layered(shipped_files(), files))
    assert not next(rule for rule in own.rules if rule.id == "guardrails/force-push").enabled
