"""Reasons of each match and mismatch, in `baton explain` and in the dry run."""

from baton.rules.policy.explain import explain
from tests.support.cases import every


def test_explain_agrees_with_the_verdict(shipped, facts):
    call = facts("Bash", "pytest -q")
    traces = {trace.id: trace for trace in explain(shipped, call)}
    matched = {trace.id for trace in traces.values() if trace.matched}
    assert "orchestrator/test-or-build" in matched
    nearest = "the nearest alternative is number 1 of 28: `shell.writes_to`: the line writes nothing"
    assert traces["orchestrator/shell-write"].why == nearest
    assert traces["options/pkill"].why == "the rule is off"
    assert traces["orchestrator/direct-edit"].why == "`tools`: another tool; `edits_files`: not an MCP tool"
    assert "fails `program`" in traces["guardrails/force-push"].why


def test_explain_shows_a_shadow_rule(build, rule, facts):
    trace = explain(build({"team/quiet": rule("team/quiet", extra="shadow: true")}), facts("Edit"))[0]
    assert (trace.matched, trace.decision, trace.shadow) == (True, "deny", True)


PUSH = "{shell: {program: git, subcommand: push, flags: [--force, -f]}}"
REMOVE = "{shell: {program: rm, flags: [-r]}}"
EDIT = "{tools: Edit}"


@every(
    ("match", "tool", "tool_input", "why"),
    [
        (PUSH, "Bash", "git push", "`shell`: no program has all of it; the nearest, `git push`, fails `flags`"),
        (f"[{REMOVE}, {PUSH}]", "Bash", "git push", "number 2 of 2: `shell`: no program has all of it; the nearest,"),
        (f"[{PUSH}, {REMOVE}]", "Bash", "git push", "number 1 of 2: `shell`: no program has all of it; the nearest,"),
        (f"[{PUSH}, {REMOVE}]", "Bash", "rm a; git status", "number 1 of 2:"),
        (f"[{EDIT}, {PUSH}, {REMOVE}]", "Bash", "rm a", "number 3 of 3: `shell`: no program has all of it;"),
        (f"[{EDIT}, {REMOVE}]", "Read", {}, "number 2 of 2: `shell.line`: no shell line"),
        (f"[{EDIT}, {EDIT}]", "Read", {}, "`tools`: another tool"),
        (
            '[{tools: Edit, paths: ["*.md"]}, {tools: Edit, paths: ["*.py"], input: {deep: true}}]',
            "Edit",
            {"file_path": "a.txt", "deep": True},
            "number 2 of 2: `paths`: `a.txt` does not match",
        ),
        ('{tools: Edit, paths: ["*.md"]}', "Edit", {}, "`paths`: the call names no path"),
        ("{tools: Edit, places: scratch}", "Edit", {}, "`places`: the call names no path, which counts as `work`"),
        ("{tools: Edit, places: scratch}", "Edit", {"file_path": "a"}, "`places`: `a` lies elsewhere, in `work`"),
    ],
)
def test_the_nearest_alternative_names_its_mismatch(build, rule, facts, match, tool, tool_input, why):
    path = "/tmp/a" if "places" in match else "a.md"
    yes = f"{{tool: Edit, input: {{file_path: {path}}}}}" if "Edit" in match else "git push -f"
    policies = build({"team/rule": rule(match=match, yes=yes)})
    said = explain(policies, facts(tool, tool_input))[0].why
    assert said.startswith(f"the nearest alternative is {why}" if why.startswith("number") else why)


def test_a_miss_is_reported_for_certain_programs_only(build, rule, facts):
    short = "when: call.input.command.size() < 12"
    policies = build(
        {"team/rule": rule(match="{shell: {program: git, subcommand: push}}", extra=short, yes="git push")}
    )
    said = explain(policies, facts("Bash", "ls; mytool git push"))[0].why
    assert said == "`shell`: no program has all of it; the nearest, `ls`, fails `program`"
