"""Records the real clients' hook payloads into tests/clients/. It calls no Baton server.

Run it after a change of a client's version: `.venv/bin/python -m tests.e2e.record`. Each kind of payload is stored
once, with paths, ids and durations replaced, so a new recording differs only with the client.
"""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e import clients
from tests.e2e.model_endpoint import ModelEndpoint, Script, Use
from tests.support.recorded import FOLDER

CLAUDE_EVENTS = """
PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion SessionStart
SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PermissionRequest PermissionDenied Setup
TaskCreated TaskCompleted ConfigChange InstructionsLoaded CwdChanged FileChanged DirectoryAdded PreSkillShellCommand
"""
CODEX_EVENTS = """
SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PermissionRequest SubagentStart SubagentStop PreCompact
PostCompact Stop
"""

NOTEBOOK = '{"cells":[{"cell_type":"code","id":"c1","metadata":{},"source":"1","outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}'
PATCH = "*** Begin Patch\n*** Add File: notes.txt\n+one\n*** End Patch\n"
PATCH_TWO = "*** Begin Patch\n*** Update File: notes.txt\n*** Move to: moved.txt\n@@\n-one\n+two\n*** Delete File: old.txt\n*** End Patch\n"

HEREDOC = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: shell.txt\n+one\n*** End Patch\nEOF\n"


def claude_script(project: Path) -> Script:
    """Every tool whose input shape a rule may look at, in the main thread and in a sub-agent."""

    def work(file: str) -> list[Use]:
        return [
            Use("Read", {"file_path": f"{project}/{file}"}),
            Use("Edit", {"file_path": f"{project}/{file}", "old_string": "1", "new_string": "2"}),
            Use("Write", {"file_path": f"{project}/new-{file}", "content": "y = 1\n"}),
            Use("Bash", {"command": "echo hi", "description": "Say hi"}),
            Use("Bash", {"command": "exit 3"}),
        ]

    more = [
        Use("Bash", {"command": "sleep 0.2", "run_in_background": True}),
        Use("Read", {"file_path": f"{project}/n.ipynb"}),
        Use("NotebookEdit", {"notebook_path": f"{project}/n.ipynb", "cell_id": "c1", "new_source": "2"}),
        Use("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "what"}),
        Use("ToolSearch", {"query": "select:Monitor,TaskStop", "max_results": 5}),
        Use("Monitor", {"command": "echo tick", "description": "watch", "timeout_ms": 1000}),
        Use("Skill", {"skill": "hello"}),
        Use("Agent", {"description": "look", "prompt": "[[look]] look", "subagent_type": "Explore"}),
        Use(
            "Task",
            {
                "description": "work",
                "prompt": "[[sub]] work",
                "subagent_type": "general-purpose",
                "model": "haiku",
                "run_in_background": False,
            },
        ),
    ]
    search = [Use("Grep", {"pattern": "x", "path": str(project)}), Use("Glob", {"pattern": "**/*.py"})]
    seek = Use("Agent", {"description": "seek", "prompt": "[[seek]] seek", "subagent_type": "Explore"})
    todos = [{"content": "a", "status": "pending", "activeForm": "doing a"}]
    task = {"subject": "a", "description": "do a", "activeForm": "doing a"}
    return {
        "main": [*work("a.py"), *more, "bye"],
        "look": [Use("Bash", {"command": "ls"}), "looked"],
        "sub": [*work("c.py"), "sub done"],
        "again": ["again"],
        "search": [*search, seek, "found"],
        "seek": [*search, "found"],
        "todo": [Use("TodoWrite", {"todos": todos}), "noted"],
        "tasks": [Use("TaskCreate", task), Use("TaskUpdate", {"taskId": "1", "status": "completed"}), "noted"],
        "ask": [Use("EnterPlanMode", {}), Use("AskUserQuestion", {"questions": [QUESTION]}), "asked"],
    }


QUESTION = {
    "question": "Which?",
    "header": "Which",
    "multiSelect": False,
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
}


def exec_js(source: str) -> Use:
    """A call of Codex's code mode, in which its models call every other tool."""
    return Use("exec", source)


def spawn(task: str, message: str, **more: str) -> Use:
    """A Codex sub-agent that starts with nothing but its message."""
    work = {"task_name": task, "message": message, "fork_turns": "none"}
    return Use("spawn_agent", {**work, **more}, namespace="collaboration")


def codex_script() -> Script:
    """The tools of Codex in code mode, in the main thread and in a sub-agent."""
    work = [
        exec_js('text(await tools.exec_command({cmd: "echo hi"}))'),
        exec_js('text(await tools.exec_command({cmd: "exit 3", workdir: "..", login: false}))'),
        exec_js(f"text(await tools.apply_patch({json.dumps(PATCH)}))"),
        exec_js(f"text(await tools.apply_patch({json.dumps(PATCH_TWO)}))"),
        exec_js(f"text(await tools.exec_command({{cmd: {json.dumps(HEREDOC)}}}))"),
    ]
    wait = Use("wait_agent", {"timeout_ms": 10_000}, namespace="collaboration")
    more = [
        exec_js(
            'const {session_id} = await tools.exec_command({cmd: "bash", tty: true, yield_time_ms: 250});'
            'text(await tools.write_stdin({session_id, chars: "echo typed; exit\\n", yield_time_ms: 250}))'
        ),
        exec_js('text(await tools.view_image({path: "p.png"}))'),
        exec_js("text(await tools.get_goal({}))"),
        exec_js("text(await tools.list_mcp_resources({}))"),
        spawn("cheap", "[[idle]] rest", model="gpt-6-luna"),
        wait,
        spawn("look", "[[sub]] look"),
        wait,
        Use("list_agents", {}, namespace="collaboration"),
    ]
    return {"main": [*work, *more, "bye"], "sub": [*work, "sub done"], "idle": ["rested"], "again": ["again"]}


def hooks(events: str, into: Path) -> dict[str, Any]:
    """Hook settings that keep each event's payload as a file and say nothing."""
    command = f"cat > {into}/$(date +%s%N).$$.json"
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}] for event in events.split()}}


def record_claude(base: Path) -> list[dict[str, Any]]:
    home, project, into = folders(base)
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(hooks(CLAUDE_EVENTS, into)))
    for file in ("a.py", "c.py"):
        (project / file).write_text("x = 1\n")
    (project / "n.ipynb").write_text(NOTEBOOK)
    (project / "CLAUDE.md").write_text("Be brief.\n")
    skill = project / ".claude" / "skills" / "hello" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: hello\ndescription: says hello\n---\nSay hello. !`echo hi`\n")
    script = claude_script(project)
    allowed = ("--allowedTools", "Bash,NotebookEdit,Skill,Read,Agent")
    with ModelEndpoint(script) as model:
        for args, env, prompt in (
            (allowed, {}, "[[main]] go"),
            (("--continue",), {}, "[[again]] go on"),
            (("--continue",), {}, "/compact"),
            (("--continue", "--fork-session"), {}, "[[again]] fork"),
            (("--continue",), {}, "/clear"),
            ((), {}, "/hello"),
            (("--agent", "Explore"), {}, "[[again]] as a named agent"),
            (("--tools", "Grep,Glob,Read,Agent"), {}, "[[search]] with the search tools"),
            ((), {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "0"}, "[[todo]] with todos"),
            ((), {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}, "[[tasks]] with tasks"),
            (("--permission-prompt-tool", "stdio"), {}, "[[ask]] with a person to ask"),
        ):
            ran = clients.claude(prompt, home=home, cwd=project, model_url=model.url, args=args, env=env)
            print(prompt, ran.code, ran.err[-300:])
        told(model)
    return read(into)


def told(model: ModelEndpoint) -> None:
    """Print what each thread's tools answered, for the person who records."""
    for thread in model.script:
        print(*(f"  {thread}: {r[:160]!r}" for r in model.results(thread)), sep="\n")


def record_codex(base: Path) -> list[dict[str, Any]]:
    home, project, into = folders(base)
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text(json.dumps(hooks(CODEX_EVENTS, into)))
    (project / "old.txt").write_text("old\n")
    with ModelEndpoint(codex_script()) as model:
        for args, prompt in (((), "[[main]] go"), (("resume", "--last"), "[[again]] go on")):
            ran = clients.codex(prompt, home=home, cwd=project, model_url=model.url, args=args)
            print(prompt, args, ran.code, ran.err[-300:])
        told(model)
    direct: Script = {
        "main": [
            Use("exec_command", {"cmd": "echo hi"}),
            Use("spawn_agent", {"message": "[[idle]] rest"}, namespace="multi_agent_v1"),
            "bye",
        ],
        "idle": ["rested"],
    }
    with ModelEndpoint(direct) as model:
        clients.codex("[[main]] direct", home=home, cwd=project, model_url=model.url, model="unknown-model")
        told(model)
    return read(into)


def folders(base: Path) -> tuple[Path, Path, Path]:
    made = base / "home", base / "home" / "project", base / "got"
    for folder in made:
        folder.mkdir(parents=True)
    return made


def read(into: Path) -> list[dict[str, Any]]:
    return [json.loads(f.read_text()) for f in sorted(into.iterdir())]


def name_of(payload: dict[str, Any]) -> str:
    """A payload's kind: what tells it from the others that are kept."""
    event = payload["hook_event_name"]
    kind = payload.get("tool_name") or payload.get("source") or payload.get("reason") or payload.get("agent_type") or ""
    if event in {"PreCompact", "PostCompact"}:
        kind = payload["trigger"]
    if event == "UserPromptSubmit" and payload["prompt"].startswith("<"):
        kind = "machine"
    where = "-subagent" if payload.get("agent_id") and not event.startswith("Subagent") else ""
    variant = variant_of(payload.get("tool_input"))
    if event == "SubagentStop" and not payload["agent_type"]:
        kind = "compact"
    if event in {"UserPromptSubmit", "Stop", "InstructionsLoaded"} and "agent_id" not in payload and kind:
        kind = kind if kind == "machine" else "named-agent"
    return f"{event}{f'-{kind}' if kind else ''}{variant}{where}"


VARIANTS = {"heredoc": "<<", "failing": "exit 3", "update": "*** Update File", "typed-into": "bash"}


def variant_of(tool_input: Any) -> str:
    if not isinstance(tool_input, dict):
        return ""
    if tool_input.get("run_in_background") is True:
        return "-background"
    if tool_input.get("model"):
        return "-model"
    command = str(tool_input.get("command", ""))
    return next((f"-{name}" for name, text in VARIANTS.items() if text in command), "")


def anonymise(payloads: list[dict[str, Any]], base: Path) -> list[dict[str, Any]]:
    """Replace this machine's paths, ids and times by fixed ones, the same one for the same id."""
    text = json.dumps(payloads, ensure_ascii=False)
    for folder, shown in (("home/project", "project"), ("home", "")):
        slug = re.sub(r"[^A-Za-z0-9]", "-", f"{base}/{folder}")
        text = text.replace(slug, f"-home-dev{'-' * bool(shown)}{shown}")
        text = text.replace(f"{base}/{folder}", f"/home/dev{'/' * bool(shown)}{shown}")
    text = re.sub(r"/tmp/claude-\d+", "/tmp/claude-1000", text)
    text = re.sub(r"rollout-[\dT-]{19}-", "rollout-2026-01-02T03-04-05-", text)
    text = re.sub(r"sessions/\d{4}/\d\d/\d\d", "sessions/2026/01/02", text)
    # Codex names its main agent `/root` and sub-agents below it; here they shall not look like a folder.
    text = text.replace('\\"/root/', '\\"/main/').replace('\\"/root\\"', '\\"/main\\"')
    text = re.sub(r'(nickname\\+":\\+")\w+', r"\g<1>Euler", text)
    seen: dict[str, str] = {}

    def numbered(form: str) -> Callable[[re.Match[str]], str]:
        return lambda m: seen.setdefault(m.group(), form.format(len(seen) + 1))

    text = re.sub(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", numbered("00000000-0000-4000-8000-{:012}"), text)
    text = re.sub(r"\ba[0-9a-f]{16}\b", numbered("a{:016}"), text)
    text = re.sub(r'("(?:duration_ms|durationMs|totalDurationMs)": ?)[\d.]+', r"\g<1>12", text)
    anonymous: list[dict[str, Any]] = json.loads(text)
    return anonymous


def keep(client: str, payloads: list[dict[str, Any]], base: Path) -> None:
    """Write the first payload of each kind."""
    kinds: dict[str, dict[str, Any]] = {}
    for payload in payloads:
        kinds.setdefault(name_of(payload), payload)
    found = zip(kinds, anonymise(list(kinds.values()), base), strict=True)
    rows = [f"{json.dumps(kind)}: {json.dumps(payload, ensure_ascii=False)}" for kind, payload in sorted(found)]
    (FOLDER / client.replace("-", "_") / "payloads.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(client, *kinds, sep="\n  ")


def main() -> None:
    clients.install()
    for client, record in (("claude-code", record_claude), ("codex", record_codex)):
        with tempfile.TemporaryDirectory(prefix="baton-record-") as folder:
            base = Path(folder).resolve()
            keep(client, record(base), base)


if __name__ == "__main__":
    main()
