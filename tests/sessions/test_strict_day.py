"""A day of an orchestrator in strict mode, with each client's tools: what a person would allow is never refused.

`strict_day.tsv` has the calls: tool, its main argument or its input as JSON, and `ok` or the rule that refuses.
"""

import json
from pathlib import Path

from baton.clients.registry import CLIENTS, SPECS
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.matching.context import Context
from tests.support.cases import every, listed

ROOT = "/home/ada/shop"
SESSION = "/tmp/claude-1000/-home-ada-shop/5f0c/tasks"
FOLDERS = {  # of results, plans and memory
    "claude-code": (SESSION, "/home/ada/.claude/plans", "/home/ada/.claude/projects/-home-ada-shop/memory"),
    "codex": ("/tmp/codex-5f0c", f"{ROOT}/plans", "/home/ada/.codex/memories"),
    "copilot-cli": ("/tmp/copilot-tool-output", "/home/ada/.copilot/session-state/5f0c", f"{ROOT}/notes"),
    "cursor": ("/home/ada/.cursor/projects/shop/agent-tools", "/home/ada/.cursor/plans", f"{ROOT}/notes"),
    "gemini": ("/home/ada/.gemini/tmp/5f0c", "/home/ada/.gemini/tmp/5f0c/plans", f"{ROOT}/notes"),
    "opencode": ("/home/ada/.local/share/opencode/tool-output", f"{ROOT}/.opencode/plans", f"{ROOT}/notes"),
    "qwen": ("/home/ada/.qwen/tmp/5f0c", "/home/ada/.qwen/plans", f"{ROOT}/notes"),
}
MAIN = {"Read": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "Grep": "pattern"} | {
    "Glob": "pattern", "Bash": "command", "Task": "prompt", "LS": "path",
}  # fmt: skip
MORE = {"Edit": {"old_string": "a", "new_string": "b"}, "MultiEdit": {"edits": []}, "Write": {"content": "x"}} | {
    "Task": {"description": "Work", "subagent_type": "general-purpose"}
}
KEYS = {  # what clients call `file_path`
    "copilot-cli": "path", "opencode": "filePath", "cursor": "path", "gemini": "absolute_path",
}  # fmt: skip
CODEX = {  # it has a shell and patches in the place of other tools
    "Read": "sed -n '1,200p' {}", "Grep": "rg -n '{}' src", "Glob": "find . -path '{}'",
    "Edit": "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch",
    "Write": "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch",
}  # fmt: skip
MEANT = {"LSP": "claude-code", "MultiEdit": "claude-code opencode"}
"""Tools that only some clients have; a tool that no table knows, such as `CronCreate`, is Claude Code's."""
ELSEWHERE = {"Bash", "Read", "Grep", "Glob", "Edit", "Write", "Task", "TodoWrite"} | {
    "AskUserQuestion", "WebFetch", "WebSearch", "Skill",
}  # fmt: skip


def steps(client):
    """Yield the line number, name and input in the client's own words, and the verdict of each call."""
    names = dict(zip(("tmp", "plans", "memory"), FOLDERS[client], strict=True))
    lines = Path(__file__).with_name("strict_day.tsv").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        tool, given, verdict = line.split("\t")
        for name, folder in names.items():
            given = given.replace(f"{{{name}}}", folder)
        given = given.replace("⏎", "\n")
        if (
            client == "opencode" and tool == "mcp__filesystem__edit_file"
        ):  # docs/clients.md: rules do not know its MCP tools
            continue
        if "__" not in tool and tool not in ELSEWHERE and client not in MEANT.get(tool, "claude-code"):
            continue
        key = MAIN.get(tool, "")
        if key == "file_path" and not given.startswith("/"):
            given = f"{ROOT}/{given}"
        if client == "codex" and tool in CODEX:
            command = CODEX[tool].format(given)
            yield number, "apply_patch" if "Patch" in command else "Bash", {"command": command}, verdict
            continue
        tool_input = {KEYS.get(client, key) if key == "file_path" else key: given} if key else json.loads(given or "{}")
        own = SPECS[client].own_tools.get("Agent" if tool == "Task" else tool, tool)
        if "__" in own and client == "opencode":
            own = own.removeprefix("mcp__").replace("__", "_")
        yield number, SPECS[client].tools.get(own, own), tool_input | MORE.get(tool, {}), verdict


def refusals(policies, client):
    """Return each call with the rule that was expected and the one that has refused it, "ok" for none."""
    history, found = [], []
    for number, tool, tool_input, wanted in steps(client):
        call = ToolCall(
            client=client, session_id="s", tool_name=tool, tool_input=tool_input, cwd=ROOT, project_root=ROOT
        )
        verdict = evaluate(policies, Facts(call=call, level="strict", history=tuple(history)))
        refused = verdict.effect == "deny"
        if not refused:
            history.append(policies.history_name(Context(policies, Facts(call=call))))
        found.append((number, tool, tool_input, wanted, verdict.rule.rpartition("/")[2] if refused else "ok"))
    return found


@every("client", CLIENTS)
def test_a_day_in_strict_mode_gets_the_verdicts_of_a_person(client, shipped):
    found = refusals(shipped, client)
    assert len(found) >= 150
    wrong = {
        f"{number} {tool} {given}": f"{got}, not {want}" for number, tool, given, want, got in found if got != want
    }
    assert not wrong, listed(wrong)
