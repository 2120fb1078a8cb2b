"""A set is accepted whole or not at all, and faults have file and line."""

import contextlib

import pytest

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import Layer, PolicyProblems, extend, layered, load, rebuilt, try_layer
from tests.rules.policy.conftest import CONFIG
from tests.support.cases import every
from tests.support.shipped import shipped


def problems(build, *args, **kwargs):
    with pytest.raises(PolicyProblems) as refused:
        build(*args, **kwargs)
    return [f"{problem.file}:{problem.line}: {problem.text}" for problem in refused.value.problems]


@every(
    ("change", "expected"),
    [
        ({"extra": "whe: x"}, "team/rule.yaml:10: unknown key `whe`; did you mean `when`?"),
        ({"match": "{tool: Edit}"}, "team/rule.yaml:6: unknown key `tool`; did you mean `tools`?"),
        ({"decision": "block"}, "team/rule.yaml:8: `decision`: `block` is not allowed; allowed: `allow`, `ask`"),
        ({"extra": "expires: 90m"}, "team/rule.yaml:10: `expires`: expected `1m` to `59m`, or `1h` to `24h`"),
        ({"match": "{tools: $edit}"}, "team/rule.yaml:6: unknown list `$edit`; did you mean `$edits`?"),
        ({"match": '{tools: "[a"}'}, "team/rule.yaml:6: `[a`: `[` is never closed; allowed: `[abc]`, `[!a-z]`"),
        ({"match": '{tools: "[z-a]"}'}, "team/rule.yaml:6: a pattern that RE2 refuses: invalid character class range"),
        ({"reason": '"{tol}"'}, "team/rule.yaml:9: unknown placeholder `{tol}`; did you mean `{tool}`?"),
        ({"yes": ""}, "team/rule.yaml:11: a rule needs at least one matching test"),
        ({"no": ""}, "team/rule.yaml:11: a rule needs at least one test without a match"),
        ({"yes": "{tool: Write}"}, "team/rule.yaml:12: the test `Write {}` should match and does not: `tools`"),
        ({"no": "ls, {tool: Edit}"}, "team/rule.yaml:13: the test `Edit {}` should not match and does"),
        ({"yes": "{tool: Edit, bash: ls}"}, "team/rule.yaml:12: a test needs one of `bash` and `tool`"),
        (
            {"yes": "{tool: Edit, repeat: {text: x, times: 9}}"},
            "team/rule.yaml:12: the test has `repeat`, and no text of it says where: write `{repeat}` into `bash` or `input`",
        ),
        ({"decision": "rewrite"}, "team/rule.yaml:8: a rewrite needs `set`"),
        ({"extra": "set: {a: b}"}, "team/rule.yaml:10: `set` is only for `decision: rewrite`; this rule's is `deny`"),
        (
            {"decision": "rewrite", "extra": "set: {model: gpt}"},
            "`gpt` is not a model accepted by clients; allowed: `fable`",
        ),
        (
            {"decision": "allow", "extra": "on_failure: deny"},
            "team/rule.yaml:10: `on_failure: deny` is only for rules that deny or ask",
        ),
        ({"extra": "replaces: [team/rul]"}, "team/rule.yaml:10: unknown rule `team/rul`; did you mean `team/rule`?"),
        ({"match": "{places: [wrok]}"}, "team/rule.yaml:6: "),
        ({"match": "{spawn_refused_by: stravinski}"}, "team/rule.yaml:6: unknown roster `stravinski`"),
    ],
)
def test_each_mistake_in_a_rule_is_named(build, rule, change, expected):
    found = problems(build, {"team/rule": rule(**change)})
    assert any(expected in text for text in found), found


@every(
    ("files", "expected"),
    [
        ({"config.yaml": "rosters: [teem]"}, "config.yaml:1: unknown roster `teem`; did you mean `team`?"),
        (
            {"config.yaml": "rules: {team/rul: off}"},
            "config.yaml:1: unknown rule `team/rul`; did you mean `team/rule`?",
        ),
        ({"config.yaml": "rules: {team/rule: maybe}"}, "config.yaml:1: "),
        ({"config.yaml": "a: [\n"}, "config.yaml:2: not valid YAML"),
        (
            {"agents/x.yaml": "id: y\ndescription: x\nagents: {}"},
            "agents/x.yaml:1: `id` is `y`; a roster's id is its file's name: `x`",
        ),
        ({"team/other.yaml": "- 1"}, "team/other.yaml:1: "),
        ({"alone.yaml": "x: 1"}, "alone.yaml:1: "),
        ({"shell/x.yaml": "foo: {is: nothing}"}, "shell/x.yaml:1: unknown category `nothing`"),
        ({"team/a.yml": "x: 1"}, "team/a.yml:1: "),
    ],
)
def test_each_mistake_in_other_files_is_named(build, rule, files, expected):
    with pytest.raises(PolicyProblems) as refused:
        load(layered({"team/rule.yaml": rule(), "agents/team.yaml": "id: team\ndescription: x\nagents: {}"} | files))
    assert any(expected in str(problem) for problem in refused.value.problems), str(refused.value)


def test_all_problems_are_reported_at_once(build, rule):
    found = problems(build, {"team/a": rule("team/b"), "team/c": rule("team/c", match="{tol: x}")})
    assert [text.split(":")[0] for text in found] == ["team/a.yaml", "team/c.yaml"]


def test_a_suggestion_that_the_set_refuses_is_a_problem(build, rule):
    no_coder = rule(
        "team/no-coder",
        match="{agent: {known: true}, input: {subagent_type: coder}}",
        yes="{tool: Task, input: {subagent_type: coder, prompt: p, description: d}}",
    )
    suggests = rule(extra="suggest: {agent: coder, prompt: Do it}")
    found = problems(build, {"team/rule": suggests, "team/no-coder": no_coder})
    assert found == ["team/rule.yaml:10: it suggests `coder`, which `team/no-coder` refuses"]


def test_a_layer_cannot_refuse_a_wider_one_s_suggestion(build, rule):
    no_coder = rule(
        "team/no-coder",
        match="{agent: {known: true}, input: {subagent_type: coder}}",
        yes="{tool: Task, input: {subagent_type: coder, prompt: p, description: d}}",
    )
    suggests = rule("team/suggests", extra="suggest: {agent: coder, prompt: Do it}")
    off = CONFIG + "\nrules: {team/no-coder: 'off'}\n"
    layers = {
        "a rule for agents": (build({"team/suggests": suggests}), {"team/no-coder.yaml": no_coder}),
        "a suggestion": (build({"team/no-coder": no_coder}), {"team/suggests.yaml": suggests}),
        "a switch": (
            build({"team/no-coder": no_coder, "team/suggests": suggests}, off),
            {"config.yaml": "rules: {team/no-coder: 'on'}"},
        ),
    }
    accepted = []
    for name, (wide, narrow) in layers.items():
        with contextlib.suppress(PolicyProblems):
            extend(wide, [Layer(tier="team", name="web", files=narrow, origin="upload")])
            accepted.append(name)
        extend(wide, [Layer(tier="team", name="web", files={"team/other.yaml": rule("team/other")}, origin="upload")])
    assert not accepted


def test_the_order_of_files_does_not_matter(shipped_files):
    one, other = load(layered(shipped_files)), rebuilt(layered(dict(reversed(shipped_files.items()))), ())
    assert one.revision == other.revision
    assert [rule.id for rule in one.rules] == [rule.id for rule in other.rules]


def test_the_revision_names_the_texts_and_their_paths():
    base, changed = (load(layered({"config.yaml": text})).revision for text in ("{}", "{}\n"))
    assert len(base) == 12
    assert changed != base


def test_a_team_lays_its_files_over_the_shipped_ones(shipped_files, rule):
    team = {
        "config.yaml": "rules: {options/pkill: on}\nrosters: [ours]\nlists: {work_items: [{program: tickets}]}",
        "agents/ours.yaml": "id: ours\ndescription: x\nagents: {helper: {model: fable}}",
        "models/skill-as-agent.yaml": rule("models/skill-as-agent", match="{tools: Never}", yes="{tool: Never}"),
        "shell/aaa.yaml": "tickets: test-or-build\npytest: read-only",
        "team/rule.yaml": rule(match="{tools: Extra}", yes="{tool: Extra}"),
    }
    policies = load(layered(shipped_files, team))
    enabled = {found.id: found.enabled for found in policies.rules}
    assert (enabled["options/pkill"], enabled["options/background-limit"], enabled["team/rule"]) == (True, False, True)
    assert policies.rosters.resolve("helper").model == "fable"
    assert policies.rosters.resolve("explore") is None
    assert policies.config.never_block == load(layered(shipped_files)).config.never_block

    def verdict(tool, tool_input):
        call = ToolCall(client="t", session_id="s", tool_name=tool, tool_input=tool_input, cwd="/repo")
        return evaluate(policies, Facts(call=call, level="strict"))

    assert verdict("Bash", {"command": "pytest"}).effect == "allow"
    assert verdict("Bash", {"command": "tickets new"}).effect == "abstain"
    assert verdict("Bash", {"command": "pkill -f zz"}).rule == "options/pkill"
    assert verdict("Extra", {}).rule == "team/rule"


def test_a_teams_rule_is_tested_with_the_teams_configuration(shipped_files, rule):
    mine = {"team/rule.yaml": rule(match="{tools: [$mine]}", yes="{tool: Own}")}
    with pytest.raises(PolicyProblems, match=r"organisation:team/rule.yaml:6: unknown list `\$mine`"):
        load(layered(shipped_files, mine))
    assert load(layered(shipped_files, mine | {"config.yaml": "lists: {mine: [Own]}"}))


def test_an_option_replaces_its_rule(shipped_files):
    policies = load(layered(shipped_files, {"config.yaml": "rules: {options/direct-edit-paths: on}"}))

    def verdict(path):
        call = ToolCall(client="t", session_id="s", tool_name="Edit", tool_input={"file_path": path}, cwd="/repo")
        return evaluate(policies, Facts(call=call, level="strict"))

    assert verdict("CLAUDE.md").effect == "allow"
    assert [verdict(path).suggestion.split("'")[3] for path in ("a.py", "a.tsx", "docs/a.md", "tests/test_a.py")] == [
        "executor",
        "designer",
        "writer",
        "test-engineer",
    ]


def test_an_empty_set_is_a_set():
    assert load([]).rules == ()


@every(
    ("repeat", "problem"),
    [
        ("{text: 'src/{n}.py ', times: 30}", ""),
        ("{text: 'src/{n}.py ', times: 3}", "should match and does not"),
        ("{text: 'src/{n}.py ', times: 1}", "times"),
        ("{text: 'src/{n}.py ', times: 1001}", "times"),
        ("{text: '', times: 30}", "text"),
        ("{text: x}", "times"),
    ],
)
def test_a_test_of_a_rule_says_many_in_one_line(build, rule, repeat, problem):
    text = rule(
        match="{shell: {program: rm, operands: [src/29.py]}}", yes="{bash: 'rm {repeat}', repeat: " + repeat + "}"
    )
    if not problem:
        assert build({"team/rule": text})
        return
    with pytest.raises(PolicyProblems, match=problem):
        build({"team/rule": text})


TRIED = """id: own/a
description: A rule.
match: {tools: Edit}
decision: deny
reason: no
tests:
  match:
    - tool: Edit
    - tool: Write
  not_match: [ls]
"""


def tried(text, path="own/a.yaml"):
    return try_layer(shipped(), Layer(tier="team", name="web", origin="upload", files={path: text}))


def test_a_layer_that_is_tried_has_a_result_for_each_test_with_its_line():
    trial = tried(TRIED)
    assert [(result.group, result.index, line, result.failure == "") for result, _, line in trial.tests] == [
        ("match", 0, 8, True),
        ("match", 1, 9, False),
        ("not_match", 0, 10, True),
    ]
    assert [(one.file, one.line) for one in trial.problems] == [("team/web:own/a.yaml", 9)]


def test_a_layer_that_cannot_be_read_has_its_problems_and_no_results():
    trial = tried(TRIED.replace("decision: deny", "decision: no"))
    assert (trial.policies, trial.tests) == (None, [])
    assert trial.problems[0].line == 4


def test_a_trial_accepts_the_same_files_as_an_upload():
    trial = tried(TRIED.replace("    - tool: Write\n", ""))
    assert trial.problems == []
    assert all(result.failure == "" for result, _, _ in trial.tests)
