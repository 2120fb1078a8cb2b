"""Briefs an orchestrator when its session starts."""

from baton.clients import claude_code
from baton.clients.registry import words_of
from baton.clients.spec import Spec
from baton.rules.call.modes import Mode

_HEAD = {
    "strict": "Baton's orchestrator mode is on in this project (level: strict). You plan and delegate; sub-agents do the work.",
    "guidance": (
        "Baton's orchestrator mode is on in this project (level: guidance). You should plan and delegate; sub-agents do"
        " the work. Nothing is refused, but what you do yourself against these lines is remarked on."
    ),
}
_DELEGATE = """
- Delegate implementation, tests, builds and exploration with the Task tool (it may be called Agent):
  Task(subagent_type='general-purpose', description='…', prompt='…'); to find something out: subagent_type='Explore'.
- Leave `model` out of a Task call and Baton picks the one that fits the agent."""
_DELEGATE_IN_CODEX = """
- Delegate implementation, tests, builds and exploration: spawn_agent(task_name='…', message='…', fork_turns='none'),
  then wait_agent."""
_RULES = """
- {verb} for you, not for sub-agents: {edits} and shell commands that write into the project; running tests,
  builds, linters and type checkers.
- One read or search at a time: a single {lookups} is fine. A second one within three calls, also in the same
  message, is exploration: delegate it.
- Always yours: delegating, the results of your sub-agents, your plans and notes, to-do lists, questions to the person,
  skills, web search, MCP tools that read and change no files, git status, git diff, git add, git commit, and the
  work-item command.
- The person who runs this session can switch the mode off with `baton mode disable`. Do not do it yourself."""


def directives(mode: Mode, client: str) -> str:
    """Return the orchestrator's directives in the client's words, or "" while the mode is off."""
    if not mode.enabled:
        return ""
    words = words_of(client)
    shown = words.own_tools.get
    verb = "Refused" if mode.level == "strict" else "Better delegated"
    lookups = f"{shown('Read', 'Read')}, {shown('Grep', 'Grep')} or {shown('Glob', 'Glob')}"
    if client == "codex":
        return _HEAD[mode.level] + _DELEGATE_IN_CODEX + _RULES.format(verb=verb, edits="apply_patch", lookups=lookups)
    if words is claude_code.SPEC:
        edits = "Edit, Write, MultiEdit, NotebookEdit"
        return _HEAD[mode.level] + _DELEGATE + _RULES.format(verb=verb, edits=edits, lookups=lookups)
    edits = f"{shown('Edit', 'Edit')}, {shown('Write', 'Write')}"
    return _HEAD[mode.level] + _delegate(words) + _RULES.format(verb=verb, edits=edits, lookups=lookups)


def _delegate(words: Spec) -> str:
    call, arguments = words.task_call
    given = ", ".join(f"{key}='…'" for key in arguments)
    agents = " or ".join(f"'{words.agents.get(name, name)}'" for name in ("general-purpose", "Explore"))
    pick = (
        "\n- Leave `model` out of that call and Baton picks the one that fits the agent." if words.takes_model else ""
    )
    return f"""
- Delegate implementation, tests, builds and exploration with the {words.task_tool}: {call}({given});
  the agent is {agents} (to find something out).{pick}"""
