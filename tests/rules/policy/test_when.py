"""`when:` is typed at load time; a run-time error counts against the call, and is reported."""

import subprocess
import sys

import msgspec
import pytest

from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import explain
from baton.rules.policy.load import Layer, PolicyProblems, extend, layered, load
from tests.support.cases import every
from tests.support.shipped import shipped_files

TABLES = {path: text for path, text in shipped_files().items() if path.startswith("shell/")}
BASE = load(layered({"config.yaml": "shell_tools: {Bash: command}"} | TABLES))
LIST = "[" + ",".join(map(str, range(120))) + "]"


@pytest.fixture
def build():
    """A set of these rules over the shipped shell tables, which are read once."""

    def build_set(rules):
        files = {f"{rule_id}.yaml": text for rule_id, text in rules.items()}
        return extend(BASE, [Layer(tier="shipped", files=files)])

    return build_set


def with_when(rule, text, decision="deny", **more):
    extra = f"when: >-\n  {text}"
    return rule(decision=decision, **({"extra": extra, "yes": YES, "no": "{tool: Other}"} | more))


YES = "{tool: Edit, input: {n: 1, text: a, items: [a, b]}}"
INPUT = {"n": 1, "text": "a", "items": ["a", "b"]}


@every(
    "text",
    [
        'call.tool == "Edit" && call.client == "test" && call.session_id != ""',
        'call.agent_id == "" && call.agent_type == "" && call.cwd == "/repo" && call.permission_mode == ""',
        'call.project == ""',
        "call.input.n == 1",
        'call.input["text"] == "a"',
        "has(call.input.n) && !has(call.input.m)",
        '"n" in call.input && !("m" in call.input)',
        "call.input.size() == 3",
        'call.input.items.exists(item, item == "b")',
        'call.input.text.matches("^[a-c]$")',
        "shell.programs.size() == 0 && shell.categories.size() == 0 && shell.writes.size() == 0 && !shell.unparsed",
        'mode.level == "off" && !mode.enabled',
        'principal.organisation == "default" && principal.team == "default" && principal.user == "local"',
        'principal.role in ["developer", "lead"]',
    ],
)
def test_an_expression_sees_the_call(build, rule, facts, text):
    verdict = evaluate(build({"team/rule": with_when(rule, text)}), facts("Edit", INPUT, level="off"))
    assert (verdict.effect, verdict.rule, verdict.errors) == ("deny", "team/rule", ())


def test_an_expression_sees_the_shell_line(build, rule, facts):
    text = 'shell.programs.exists(p, p[0] == "git" && "push" in p) && "vcs-write" in shell.categories'
    policies = build({"team/rule": with_when(rule, text, match="{tools: Bash}", yes="git push", no="git status")})
    said = [
        evaluate(policies, facts("Bash", line)).effect for line in ("ls && git push", "git status", "echo git push")
    ]
    assert said == ["deny", "abstain", "abstain"]
    text = 'shell.writes.exists(path, path.endsWith(".lock")) || shell.unparsed'
    policies = build({"team/rule": with_when(rule, text, match="{tools: Bash}", yes="rm a.lock", no="rm a.txt")})
    said = [evaluate(policies, facts("Bash", line)).effect for line in ("echo > x.lock", "rm x.txt", "echo $((")]
    assert said == ["deny", "abstain", "deny"]


def test_one_line_may_be_judged_differently_for_two_people(build, rule, facts):
    policies = build(
        {
            "team/rule": with_when(
                rule,
                'principal.role == "developer"',
                match="{shell: {program: make}}",
                yes="make deploy",
                no="{bash: make deploy, principal: {role: lead}}",
            )
        }
    )

    def said(role):
        asked = msgspec.structs.replace(facts("Bash", "make deploy"), principal=Principal(role=role))
        return evaluate(policies, asked).effect

    assert [said("developer"), said("lead"), said("developer")] == ["deny", "abstain", "deny"]


@every(
    ("text", "expected"),
    [
        ("call.tol == 1", "unknown name `call.tol`; did you mean `call.tool`? (line 1, column 5)"),
        ("call.tool == 1", "found no matching overload for '_==_' applied to '(string, int)' (line 1, column 11)"),
        ("call.tool", 'its value is a `string`; it must be a bool, as in `call.tool == "Bash"`'),
        ("call.input.flag", "its value is a `dyn`; it must be a bool"),
        ("call.tool ==", "Syntax error"),
        ("[1].all(a, [1].all(b, [1].all(c, true)))", "3 loops (`all`, `exists`, `map` …); allowed: 2"),
        ("(" * 100 + "true" + ")" * 100, "recursion limit exceeded"),
        ("true" + " " * 2_000 + "|| true", "expected `str` of length <= 2000"),
        ("call.tool.matches(call.tool)", "`matches` needs a pattern that is written out"),
        ('call.tool.matches("a" + call.tool)', "`matches` needs a pattern that is written out"),
        ('matches(call.tool, "a")', "`matches` needs a pattern that is written out"),
        ('call.tool.matches("(")', "`matches` has a pattern that RE2 refuses: missing )"),
    ],
)
def test_an_expression_is_typed_when_it_is_loaded(build, rule, text, expected):
    with pytest.raises(PolicyProblems) as refused:
        build({"team/rule": with_when(rule, text)})
    (problem,) = refused.value.problems
    assert (problem.file, problem.line) == ("team/rule.yaml", 10)
    assert problem.text.startswith("`when`: ")
    assert expected in problem.text


@every(("decision", "effect"), [("deny", "deny"), ("ask", "ask"), ("allow", "abstain"), ("rewrite", "abstain")])
@every(
    ("text", "tool_input"),
    [
        ("call.input.n == 1", {}),
        ("call.input.n >= 1", {"n": "text"}),
        ("call.input.n == 1", {"n": 2**70}),
        ('call.input.text != "b"', {"text": "x" * 70_000}),
        ('call.input.items.exists(item, item == "a")', {"items": ["x"] * 65}),
        ('call.input.text == "a"', {"text": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}}),
    ],
)
def test_an_error_counts_as_a_match_of_deny_and_ask_alone(build, rule, facts, decision, effect, text, tool_input):
    extra = f"when: >-\n  {text}" + ("\nset: {n: x}" if decision == "rewrite" else "")
    verdict = evaluate(build({"team/rule": with_when(rule, text, decision, extra=extra)}), facts("Edit", tool_input))
    assert (verdict.effect, verdict.errors) == (effect, ("when:team/rule",))


@pytest.mark.parametrize(
    "text",
    [
        f"{LIST}.all(a, {LIST}.all(b, a + b >= 0))",
        f'{LIST}.all(a, {LIST}.all(b, !call.input.text.matches("(x+x+)+y")))',
    ],
)
def test_a_costly_expression_runs_out_of_its_budget(build, rule, text):
    with pytest.raises(PolicyProblems, match=r"in the test `Edit .*` the expression `when` fails"):
        build({"team/rule": with_when(rule, text)})


def test_a_longer_text_beside_those_that_an_expression_names_is_no_error(build, rule, facts):
    policies = build({"team/rule": with_when(rule, "call.input.n == 1")})
    verdict = evaluate(policies, facts("Edit", {"n": 1, "text": "x" * 1_000_000}))
    assert (verdict.effect, verdict.errors) == ("deny", ())


def test_half_a_surrogate_pair_is_no_error(build, rule, facts):
    policies = build({"team/rule": with_when(rule, 'call.input.text != "b"')})
    assert evaluate(policies, facts("Edit", {"text": "\ud800"})).errors == ()


def test_an_error_is_reported_with_the_other_rules_verdict(build, rule, facts):
    policies = build({"team/rule": with_when(rule, "call.input.n == 1", "allow"), "team/other": rule("team/other")})
    verdict = evaluate(policies, facts("Edit"))
    assert (verdict.hits, verdict.errors) == ((RuleHit("team/other", "deny"),), ("when:team/rule",))


def test_an_exception_precedes_the_expression(build, rule, facts):
    policies = build({"team/rule": with_when(rule, "call.input.n == 1", unless="{input: {text: b}}")})
    verdict = evaluate(policies, facts("Edit", {"text": "b"}))
    assert (verdict.effect, verdict.errors) == ("abstain", ())


def test_explain_shows_the_expression(build, rule, facts):
    policies = build({"team/rule": with_when(rule, "call.input.n == 1", "allow")})
    said = [explain(policies, facts("Edit", given))[0] for given in ({"n": 1}, {"n": 2}, {})]
    assert [(one.matched, one.why, one.when) for one in said] == [
        (True, "", "call.input.n == 1"),
        (False, "`when`: it is false", "call.input.n == 1"),
        (False, "`when`: it failed", "call.input.n == 1"),
    ]


@pytest.mark.slow("starts interpreters")
def test_the_language_is_loaded_only_where_a_rule_uses_it():
    code = (
        "import sys; from baton.rules.policy.load import layered, load; from baton.shared import policy_folders;"
        "load(layered(policy_folders.read(policy_folders.shipped())));"
        "sys.exit(any(name.startswith('cel_expr') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_rule_s_tests_set_the_permission_mode(build, rule):
    text = with_when(
        rule,
        'call.permission_mode == "bypassPermissions"',
        yes="{tool: Edit, permission_mode: bypassPermissions}",
        no="{tool: Edit, permission_mode: plan}",
    )
    assert build({"team/rule": text}).rules
