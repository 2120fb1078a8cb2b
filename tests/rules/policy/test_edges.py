"""The edges of the policy engine's limits, ranks and defaults."""

import pytest

from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import explain
from baton.rules.policy.lint import lint
from baton.rules.policy.load import layered, load
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import live_rules
from baton.rules.policy.matching.when import Cost, InputSize
from baton.rules.policy.rules.files import PolicyProblems

LONG = "rm " + "x" * 300
RM = "{tools: Bash, shell: {program: rm}}"


def shell_rule(rule, **more):
    return rule(match=RM, yes='"rm a"', no='"ls"', **more)


def test_a_reason_shows_120_characters_of_a_command(build, rule, facts):
    verdict = evaluate(build({"team/rule": shell_rule(rule, reason="runs <{command}>")}), facts("Bash", LONG))
    assert f"<{LONG[:120]}>" in verdict.reason


def test_an_explanation_shows_60_characters_of_the_nearest_program(build, rule, facts):
    narrow = rule(match="{tools: Bash, shell: {program: rm, args: [rm -r]}}", yes='"rm -r a"', no='"ls"')
    (trace,) = explain(build({"team/rule": narrow}), facts("Bash", LONG))
    assert f"`{LONG[:60]}`" in trace.why


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ({"yes": f"'ls {'x' * 300}'", "no": '"ls"'}, f"`ls {'x' * 117}` should match"),
        ({"yes": '"rm a"', "no": f"'{LONG}'"}, f"`{LONG[:120]}` should not match"),
    ],
)
def test_a_failing_test_is_named_by_120_characters(build, rule, tests, words):
    with pytest.raises(PolicyProblems, match=words):
        build({"team/rule": rule(match=RM, **tests)})


def test_a_roster_that_is_hidden_is_a_problem_of_the_whole_file(shipped_files):
    mine = {
        "config.yaml": "rosters: [claude-code, mine]",
        "agents/mine.yaml": "id: mine\ndescription: x\nagents: {Explore: {}}",
    }
    (hidden,) = [one for one in lint(load(layered(shipped_files, mine))) if "never applies" in one.text]
    assert (hidden.file, hidden.line) == ("agents/mine.yaml", 0)


def test_a_refusal_omits_rules_softened_by_guidance(build, rule, facts):
    rules = {
        "team/deny": rule("team/deny", extra="suggest: [{text: do this}]"),
        "team/soft": rule("team/soft", modes="[guidance]", extra="suggest: [{text: do that}]"),
    }
    verdict = evaluate(build(rules), facts(level="guidance"))
    assert (verdict.effect, verdict.rule, verdict.guidance, verdict.suggestion) == ("deny", "team/deny", "", "do this")


def test_lifting_one_rule_of_the_mode_lifts_no_other(build, rule, facts):
    policies = build({"team/rule": rule(modes="[strict]")})
    assert evaluate(policies, facts(lifted=frozenset({"team/other"}))).effect == "deny"


def test_an_expression_that_is_given_nothing_costs_its_own_text():
    assert Cost("true").units(InputSize()) == 502  # 500 of asking, 2 of its one word


def test_a_rule_that_the_line_decides_is_not_evaluated_again(build, rule, facts):
    rules = {
        "team/rule": shell_rule(rule),
        "team/input": rule(
            "team/input", match="{tools: Bash, input: {loud: true}}", yes="{tool: Bash, input: {loud: true}}"
        ),
    }
    live = live_rules(Context(build(rules), facts("Bash", "rm a")))
    assert [one.rule.id for one in live.open] == ["team/input"]
    assert live.repeats


@pytest.mark.parametrize(("decision", "message"), [("ask", "rewritten"), ("deny", "")])
def test_a_rewrite_s_message_stays_with_a_question_but_not_a_refusal(build, rule, facts, decision, message):
    rules = {
        "team/a": rule(
            "team/a", "{shell: {program: ls}}", "rewrite", extra="set: {command: rm x}", yes="ls", reason="rewritten"
        ),
        "team/b": rule("team/b", "{shell: {program: rm}}", decision, yes="rm x", no="ls"),
    }
    verdict = evaluate(build(rules), facts("Bash", "ls"))
    assert (verdict.effect, verdict.message) == (decision, message)
