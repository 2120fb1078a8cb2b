"""A rule drafted from a call has a test of it: it passes for an allowed call, and requires a change otherwise."""

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.drafts import draft
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import Layer, try_layer
from tests.support.cases import every
from tests.support.shipped import shipped


def made(tool, tool_input, **facts):
    """Return the draft for a call of somebody's shop, and what becomes of it as the organisation's layer."""
    call = ToolCall(
        client="c",
        session_id="s",
        tool_name=tool,
        tool_input=tool_input,
        project_root="/home/ann/shop",
        cwd="/home/ann/shop",
    )
    asked = Facts(call=call, **facts)
    policies = shipped()
    verdict = evaluate(policies, asked)
    stopped_by = {rule.id: rule for rule in policies.rules}[verdict.rule] if verdict.effect in {"deny", "ask"} else None
    found = draft(asked, tool_input.get("command", ""), verdict.shell, stopped_by)
    layer = Layer(tier="organisation", name="uploaded", origin="upload", files={found.path: found.text})
    return found, try_layer(policies, layer)


LET_THROUGH = [
    ("Bash", {"command": "make deploy"}, "own/no-make-deploy.yaml", "make deploy"),
    ("Bash", {"command": "cd /home/ann/shop && sudo npm publish"}, "own/no-npm-publish.yaml", "cd /repo && sudo npm publish"),
    ("Bash", {"command": "git status"}, "own/no-git-status.yaml", "git status"),
    ("Bash", {"command": "cd /srv"}, "own/no-cd.yaml", "cd /srv"),
    ("Bash", {"command": "cd /srv && pushd /opt"}, "own/no-cd.yaml", "cd /srv && pushd /opt"),
    ("Bash", {"command": "X=1"}, "own/no-bash.yaml", "X=1"),
    ("Write", {"file_path": "/home/ann/shop/a.py"}, "own/no-write.yaml", {"tool": "Write", "input": {"file_path": "/repo/a.py"}}),
    ("Write", {"file_path": "src/a.py"}, "own/no-write.yaml", {"tool": "Write", "input": {"file_path": "src/a.py"}}),
    ("Read", {}, "own/no-read.yaml", {"tool": "Read"}),
    ("mcp__x__y", {}, "own/no-mcp-x-y.yaml", {"tool": "mcp__x__y"}),
]  # fmt: skip


@every(("tool", "given", "path", "test"), LET_THROUGH, ids=[str(row[1]) + row[0] for row in LET_THROUGH])
def test_a_draft_of_an_allowed_call_stops_it(tool, given, path, test):
    found, trial = made(tool, given)
    assert (found.path, found.group, found.test, found.replaces) == (path, "match", test, "")
    assert trial.problems == []
    assert [(result.group, result.failure) for result, _, _ in trial.tests] == [("match", ""), ("not_match", "")]


def test_a_draft_of_a_stopped_call_fails_its_test_until_changed():
    found, trial = made("Bash", {"command": "pytest -q"}, level="strict")
    assert (found.group, found.replaces) == ("not_match", "orchestrator/test-or-build")
    assert found.test == {"bash": "pytest -q", "level": "strict"}
    assert [result.call for result, _, _ in trial.tests if result.failure] == ["pytest -q"]
    text = found.text.replace("unless:\n", "unless:\n  - shell: {program: pytest}\n  - ")
    assert text != found.text


def test_a_copy_of_a_locked_rule_is_refused_by_the_lock():
    _, trial = made("Bash", {"command": "rm -rf /"})
    assert trial.policies is None
    assert "locked" in trial.problems[0].text


def test_a_test_for_the_mode_has_the_history_that_the_rule_looked_at():
    found, _ = made("Read", {"file_path": "b.py"}, level="strict", history=("Read",))
    assert found.test == {"tool": "Read", "input": {"file_path": "b.py"}, "level": "strict", "history": ["Read"]}
