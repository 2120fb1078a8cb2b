"""How matches become one verdict."""

import pytest

from baton.rules.call.call import MOST_PATHS
from baton.rules.call.verdict import RuleHit
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import explain
from baton.rules.policy.load import Layer, extend, layered, load
from tests.support.cases import every

CONFIG = "rosters: [team]\n"
LOUD = "{tool: Edit, input: {loud: true}}"
MANY = "{tool: Edit, input: {file_path: [" + ", ".join(f"a{number}" for number in range(MOST_PATHS + 1)) + "]}}"


def test_no_rule_is_no_opinion(build, facts):
    verdict = evaluate(build({}), facts())
    assert (verdict.effect, verdict.rule, verdict.hits, verdict.reason) == ("abstain", "", (), "")


@every(
    ("decisions", "winner"),
    [
        (["allow", "deny", "ask"], "deny"),
        (["ask", "allow", "rewrite"], "ask"),
        (["allow", "rewrite"], "rewrite"),
        (["allow"], "allow"),
    ],
)
def test_the_strongest_decision_wins(build, rule, facts, decisions, winner):
    rules = {}
    for decision in decisions:
        extra = "set: {note: x}" if decision == "rewrite" else ""
        rules[f"team/{decision}"] = rule(f"team/{decision}", decision=decision, extra=extra)
    verdict = evaluate(build(rules), facts())
    assert (verdict.effect, verdict.rule) == (winner, f"team/{winner}")


def test_among_equals_the_first_id_decides_and_all_are_listed(build, rule, facts):
    rules = {name: rule(name, reason=name) for name in ("team/b", "team/a", "other/z")}
    verdict = evaluate(build(rules), facts())
    assert verdict.rule == "other/z"
    assert verdict.hits == (RuleHit("other/z", "deny"), RuleHit("team/a", "deny"), RuleHit("team/b", "deny"))


def test_an_allow_rule_speaks_only_where_no_other_does(build, rule, facts):
    rules = {"team/a": rule("team/a", decision="allow"), "team/b": rule("team/b", decision="ask")}
    assert evaluate(build(rules), facts()).hits == (RuleHit("team/b", "ask"),)


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_guidance_softens_the_mode_s_refusals_only(build, rule, facts, decision):
    bound = build({"team/r": rule("team/r", decision=decision, modes="[guidance, strict]")})
    verdict = evaluate(bound, facts(level="guidance"))
    assert (verdict.effect, verdict.guidance, verdict.reason) == ("allow", "⚠️ ORCHESTRATOR: because", "")
    assert verdict.hits == (RuleHit("team/r", "guidance"),)
    assert evaluate(bound, facts(level="strict")).effect == decision
    assert evaluate(bound, facts(level="off")).effect == "abstain"
    free = build({"team/r": rule("team/r", decision=decision)})
    assert [evaluate(free, facts(level=level)).effect for level in ("off", "guidance", "strict")] == [decision] * 3


@pytest.mark.parametrize("softened", ["team/a", "team/z"], ids=["first", "last"])
def test_a_softened_refusal_ranks_below_a_rewrite_and_above_an_allow(build, rule, facts, softened):
    rules = {
        "team/m": rule("team/m", decision="rewrite", extra="set: {note: x}", reason="noted"),
        softened: rule(softened, modes="[guidance]"),
    }
    verdict = evaluate(build(rules), facts(level="guidance"))
    assert (verdict.effect, verdict.rule, verdict.guidance) == ("rewrite", "team/m", "⚠️ ORCHESTRATOR: because")
    assert {(hit.id, hit.effect) for hit in verdict.hits} == {("team/m", "rewrite"), (softened, "guidance")}
    rules["team/m"] = rule("team/m", decision="allow", reason="fine")
    verdict = evaluate(build(rules), facts(level="guidance"))
    assert (verdict.effect, verdict.rule, verdict.guidance) == ("allow", softened, "⚠️ ORCHESTRATOR: because")


@pytest.mark.parametrize(
    ("locked", "effect", "hit"), [("[]", "abstain", "lifted"), ("[team/rule]", "deny", "deny")], ids=["free", "locked"]
)
def test_a_lifted_rule_is_silent_unless_it_was_locked_since(build, rule, facts, locked, effect, hit):
    policies = build({"team/rule": rule(modes="[strict]")})
    locks = Layer(tier="organisation", files={"config.yaml": f"locked: {locked}"})
    call = facts(lifted=frozenset({"team/rule"}))
    assert evaluate(policies, call).effect == "abstain"
    verdict = evaluate(extend(policies, [locks]), call)
    assert (verdict.effect, verdict.hits) == (effect, (RuleHit("team/rule", hit),))


def test_a_rule_is_lifted_by_its_own_id_alone(build, rule, facts):
    policies = build({"team/always": rule("team/always")})
    assert evaluate(policies, facts(lifted=frozenset({"team/always"}))).effect == "abstain"
    assert evaluate(policies, facts(lifted=frozenset({"team/other"}))).effect == "deny"


@pytest.mark.parametrize("tool", ["Task", "mcp__x__y"])
def test_no_mode_bound_rule_touches_the_never_block_list(build, rule, facts, tool):
    everything = rule(match='{tools: "*"}', modes="[strict]", no="{tool: Task}")
    assert evaluate(build({"team/rule": everything}), facts(tool)).effect == "abstain"
    always = rule(match='{tools: "*"}', no="{tool: Edit, who: subagent}", who="orchestrator")
    assert evaluate(build({"team/rule": always}), facts(tool)).effect == "deny"


def test_the_key_who_separates_orchestrators_from_sub_agents(build, rule, facts):
    policies = build({"team/main": rule("team/main", who="orchestrator"), "team/sub": rule("team/sub", who="subagent")})
    assert evaluate(policies, facts()).rule == "team/main"
    assert evaluate(policies, facts(agent_id="a1")).rule == "team/sub"
    assert evaluate(policies, facts(agent_type="orchestrator")).rule == "team/main"


def test_a_rewrite_keeps_the_whole_input_and_adds_up(build, rule, facts):
    given = {"file_path": "a", "deep": {"x": [1]}}
    rules = {
        "team/a": rule("team/a", decision="rewrite", extra="set: {one: '1'}", reason="first"),
        "team/b": rule("team/b", decision="rewrite", extra="set: {two: '2', one: late}", reason="second"),
    }
    verdict = evaluate(build(rules), facts(tool_input=given))
    assert verdict.updated_input == given | {"one": "1", "two": "2"}
    assert verdict.updated_input is not given
    assert given == {"file_path": "a", "deep": {"x": [1]}}
    assert verdict.message == "first\nsecond"


def test_a_denied_call_is_not_rewritten_and_an_asked_one_is(build, rule, facts):
    rewrite = rule("team/a", decision="rewrite", extra="set: {one: '1'}")
    denied = evaluate(build({"team/a": rewrite, "team/b": rule("team/b")}), facts())
    assert (denied.updated_input, denied.message) == (None, "")
    asked = evaluate(build({"team/a": rewrite, "team/b": rule("team/b", decision="ask")}), facts())
    assert (asked.effect, asked.updated_input) == ("ask", {"one": "1"})


@pytest.mark.parametrize(("decision", "changed"), [("deny", None), ("ask", {"command": "rm -r x"})])
def test_a_rewritten_call_is_judged_again(build, rule, facts, decision, changed):
    rules = {
        "team/a": rule("team/a", "{shell: {program: ls}}", "rewrite", extra="set: {command: rm -r x}", yes="ls"),
        "team/b": rule("team/b", "{shell: {program: rm}}", decision, yes="rm x"),
    }
    policies = build(rules)
    verdict = evaluate(policies, facts("Bash", "ls"))
    assert (verdict.effect, verdict.rule, verdict.updated_input) == (decision, "team/b", changed)
    assert {one.id for one in explain(policies, facts("Bash", "ls")) if one.matched} == {"team/a", "team/b"}
    assert [(hit.id, hit.effect) for hit in verdict.hits] == [("team/b", decision), ("team/a", "rewrite")]
    assert [program.name for program in verdict.shell.programs] == ["ls"]


@every(
    ("match", "missing", "name"),
    [
        ("{history: {same_tool_within: 3}}", {"history": None}, "history"),
        ("{background_running_at_least: 2}", {"background_running": None}, "background_running"),
        ("{edited_by_other: true}", {"other_editor": None}, "other_editor"),
    ],
)
def test_a_fact_that_could_not_be_read(build, rule, facts, match, missing, name):
    seen = "history: [Edit], background_running: 2, other_editor: s2, input: {run_in_background: true}"
    texts = {
        on_failure: rule(match=match, extra=f"on_failure: {on_failure}", yes=f"{{tool: Edit, {seen}}}")
        for on_failure in ("ignore", "deny")
    }
    call = facts(tool_input={"run_in_background": True}, **missing)
    ignored = evaluate(build({"team/rule": texts["ignore"]}), call)
    assert (ignored.effect, ignored.blind) == ("abstain", (name,))
    denied = evaluate(build({"team/rule": texts["deny"]}), call)
    assert (denied.effect, denied.blind) == ("deny", (name,))


def test_a_verdict_that_is_remembered_does_not_hide_that_a_fact_is_missing(shipped, facts):
    for history, blind in (((), ()), (None, ("history",)), ((), ())):
        assert evaluate(shipped, facts("Bash", "cat a.py", history=history, accepts=())).blind == blind


def test_an_input_is_unread_from_the_first_path_that_is_not_looked_at(build, rule, facts):
    policies = build({"team/rule": rule(match="{unread_input: true}", yes=MANY)})
    for paths, effect in ((MOST_PATHS, "abstain"), (MOST_PATHS + 1, "deny")):
        given = {"file_path": [f"a{number}" for number in range(paths)]}
        assert evaluate(policies, facts("Edit", given)).effect == effect


@every(("line", "effect"), [("git push a", "deny"), ("/usr/bin/git push", "deny"), ("git pull", "abstain")])
def test_the_words_of_a_line_begin_with_the_program_by_its_name_or_by_its_path(build, rule, facts, line, effect):
    policies = build({"team/rule": rule(match="{shell: {args: [git push]}}", yes="git push")})
    assert evaluate(policies, facts("Bash", line)).effect == effect


@pytest.mark.parametrize(
    ("unless", "inside", "outside"),
    [('{paths: ["*.md"]}', "a.md", "b.py"), ("{places: scratch}", "/tmp/a", "src/b")],
    ids=["paths", "places"],
)
def test_an_exception_must_hold_for_every_path(build, rule, facts, unless, inside, outside):
    policies = build({"team/rule": rule(match="{tools: apply_patch}", unless=unless, yes="{tool: apply_patch}")})

    def decided(*paths):
        patch = "".join(f"*** Update File: {path}\n" for path in paths)
        return evaluate(policies, facts("apply_patch", patch)).effect

    assert decided(inside) == decided(inside, inside) == "abstain"
    assert decided(inside, outside) == decided(outside, inside) == decided(outside) == "deny"


def test_a_strict_refusal_names_the_alternative_the_rule_and_the_way_out(shipped, facts):
    verdict = evaluate(shipped, facts("Edit", {"file_path": "src/a.py"}))
    assert verdict.reason == (
        "🎯 ORCHESTRATOR MODE: Edit is implementation work. Delegate to Coder subagent using Task tool.\n\n"
        "Use: Task(prompt='Implement [describe changes]', subagent_type='general-purpose')\n\n"
        "To disable orchestrator mode: baton mode disable (for the person to run, not the agent)\n\n"
        "Rule orchestrator/direct-edit, session session-1, main thread."
    )
    assert verdict.suggestion == (
        "Task(\n    prompt='Implement [describe changes]',\n    subagent_type='general-purpose'\n)"
    )


@pytest.mark.parametrize(
    ("command", "suggestion"),
    [
        ("pytest", "Task(\n    prompt='Run tests and report results',\n    subagent_type='general-purpose'\n)"),
        ("npm run build", "Use Task tool to delegate this operation to a subagent"),
    ],
)
def test_suggestions_for_shell_work(shipped, facts, command, suggestion):
    verdict = evaluate(shipped, facts("Bash", command))
    assert verdict.suggestion == suggestion
    assert "Use: Task(prompt=" in verdict.reason


@pytest.mark.parametrize(
    ("tool", "tool_input", "guidance"),
    [
        ("Read", {"file_path": "a"}, "✅ Single lookup allowed"),
        ("Bash", 'python -c "from htmlgraph import SDK"', "✅ SDK work item creation"),
        ("Bash", "ls", "✅ Allowed but consider if delegation would be better"),
        ("Bash", "git status", ""),
        ("TodoWrite", {}, ""),
    ],
)
def test_guidance_beside_allowed_calls_in_strict_mode_only(shipped, facts, tool, tool_input, guidance):
    assert evaluate(shipped, facts(tool, tool_input)).guidance == guidance
    assert evaluate(shipped, facts(tool, tool_input, level="guidance")).guidance == ""


def test_injection_keeps_every_field_and_names_the_agent_without_its_namespace(shipped, facts):
    given = {"subagent_type": "ultrapower:explore", "prompt": "p", "description": "d", "resume": "x", "model": None}
    verdict = evaluate(shipped, facts("Task", given, level="off"))
    assert verdict.updated_input == given | {"model": "haiku"}
    assert verdict.message == "Auto-injecting model: haiku for explore"
    assert evaluate(shipped, facts("Task", given | {"model": "opus"})).updated_input is None


def test_a_roster_model_that_clients_refuse_is_never_injected(shipped_files, facts):
    own = "id: other\ndescription: x\nagents: {painter: {model: gemini-3-pro}}\n"
    policies = load(layered(shipped_files, {"agents/other.yaml": own, "config.yaml": "rosters: [other]"}))
    given = {"subagent_type": "painter", "prompt": "p", "description": "d"}
    assert evaluate(policies, facts("Task", given)).effect == "abstain"


@pytest.mark.parametrize("key", ["command", "cmd"])
def test_a_command_given_as_a_list_is_read_like_a_line(shipped, facts, key):
    tool = {"command": "shell", "cmd": "exec_command"}[key]
    verdict = evaluate(shipped, facts(tool, {key: ["bash", "-lc", "cd x && pytest"]}))
    assert verdict.rule == "orchestrator/test-or-build"


@pytest.mark.parametrize("config", ["", "rules: {team/quiet: shadow}"])
def test_a_rule_in_shadow_is_listed_and_changes_nothing(build, rule, facts, config):
    quiet = rule("team/quiet", extra="shadow: true" if not config else "")
    loud = {"team/loud": rule("team/loud", decision="ask", match="{input: {loud: true}}", yes=LOUD)}
    policies = build({"team/quiet": quiet} | loud, config=CONFIG + config)
    alone, beside = evaluate(policies, facts("Edit")), evaluate(policies, facts("Edit", {"loud": True}))
    assert (alone.effect, alone.rule, alone.reason, alone.guidance) == ("abstain", "", "", "")
    assert alone.hits == (RuleHit("team/quiet", "shadow"),)
    assert (beside.effect, beside.rule) == ("ask", "team/loud")
    assert beside.hits == (RuleHit("team/loud", "ask"), RuleHit("team/quiet", "shadow"))
    without = evaluate(build(loud), facts("Edit", {"loud": True}))
    assert (beside.reason, beside.guidance, beside.message) == (without.reason, without.guidance, without.message)


def test_a_rewrite_in_shadow_rewrites_nothing(build, rule, facts):
    policies = build({"team/quiet": rule("team/quiet", decision="rewrite", extra="shadow: true\nset: {x: y}")})
    verdict = evaluate(policies, facts("Edit"))
    assert (verdict.effect, verdict.updated_input, verdict.message) == ("abstain", None, "")


def test_a_shadow_rule_replaces_no_other(build, rule, facts):
    policies = build(
        {"team/old": rule("team/old"), "team/new": rule("team/new", extra="shadow: true\nreplaces: [team/old]")}
    )
    assert evaluate(policies, facts("Edit")).hits == (RuleHit("team/old", "deny"), RuleHit("team/new", "shadow"))


def test_a_switch_takes_a_rule_out_of_its_shadow(build, rule, facts):
    quiet = rule("team/quiet", extra="shadow: true")
    assert (
        evaluate(build({"team/quiet": quiet}, config=CONFIG + "rules: {team/quiet: on}"), facts("Edit")).effect
        == "deny"
    )
