"""A policy set's own properties."""

import gc
import weakref

from baton.rules.call.call import ToolCall
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import load
from baton.rules.policy.rules.files import Layer
from tests.support.cases import every
from tests.support.shipped import shipped_layer

OTHER = "{tool: Edit, other_editor: s2}"


@every(
    ("rules", "needed"),
    [
        ({}, False),
        ({"match": "{tools: Edit}"}, False),
        ({"match": "{edited_by_other: true}", "yes": OTHER}, True),
        ({"match": "{edited_by_other: true}", "yes": OTHER, "extra": "enabled: false"}, False),
        ({"unless": "{edited_by_other: true}", "no": OTHER}, True),
    ],
    ids=["no rule", "another condition", "asked", "asked by a rule that is off", "asked by an exception"],
)
def test_editors_are_needed_while_an_enabled_rule_asks_for_them(build, rule, rules, needed):
    policies = build({"team/rule": rule(**rules)} if rules else {})
    assert policies.needs_editors is needed


def test_the_cache_distinguishes_calls(build, rule, facts):
    policies = build(
        {"team/rule": rule(match="{tools: Edit, paths: 'src/**'}", yes="{tool: Edit, input: {file_path: src/a}}")}
    )
    effects = [
        evaluate(policies, facts(tool_input={"file_path": path})).effect
        for path in ("src/a", "docs/a", "src/a", "src/b")
    ]
    assert effects == ["deny", "abstain", "deny", "deny"]


def test_a_suggestion_that_asks_for_the_input_is_not_taken_from_a_command_of_another_kind(build, rule, facts):
    suggest = "[{if: {input: {command: ls}}, text: as text}, {text: as a list}]"
    policies = build(
        {"team/rule": rule(match="{shell: {program: ls}}", extra=f"suggest: {suggest}", yes="ls", no="cat")}
    )
    said = [
        evaluate(policies, facts("Bash", {"command": command})).suggestion for command in ("ls", ["ls"], "ls", ["ls"])
    ]
    assert said == ["as text", "as a list"] * 2


def test_a_replaced_set_is_freed_at_once_without_the_collector():
    gc.disable()
    try:
        policies = load([shipped_layer(), Layer(tier="organisation", files={"config.yaml": "{}"})])
        policies.reading(ToolCall(client="c", session_id="s", tool_name="Bash", tool_input={"command": "ls"}), None)
        gone = weakref.ref(policies)
        del policies
        assert gone() is None
    finally:
        gc.enable()


def test_a_remark_for_people_is_no_mention_beside_a_line_and_any_other_text_is(build, rule, facts):
    policies = build(
        {"team/rule": rule(match="{shell: {program: make}, mentions: '*secret*'}", yes="make secret", no="ls")}
    )
    inputs = [
        {"command": "make all", "description": "print no secret", "timeout": 5},
        {"command": "make all", "chars": "secret"},
        {"command": "make all"},
        {"command": "make s''ecret", "description": "run it"},
    ]
    effects = [evaluate(policies, facts("Bash", given)).effect for given in (*inputs, *inputs)]
    assert effects == ["abstain", "deny", "abstain", "deny"] * 2
