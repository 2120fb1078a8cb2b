"""What an orchestrator is told when its session starts. It says what the rules enforce; it enforces nothing."""

from app.engine.modes import Mode

_HEAD = {
    "strict": "Baton's orchestrator mode is on in this project (level: strict). You plan and delegate; sub-agents do the work.",
    "guidance": (
        "Baton's orchestrator mode is on in this project (level: guidance). You should plan and delegate; sub-agents do"
        " the work. Nothing is refused, but what you do yourself against these lines is remarked on."
    ),
}
_RULES = """
- Delegate implementation, tests, builds and exploration with the Task tool (it may be called Agent):
  Task(subagent_type='general-purpose', description='…', prompt='…'); to find something out: subagent_type='Explore'.
- {verb} for you, not for sub-agents: Edit, Write, MultiEdit, NotebookEdit and shell commands that write into the
  project; running tests, builds, linters and type checkers.
- One look-up at a time: a single Read, Grep or Glob is fine; a second one of the same kind within three calls is
  exploration: delegate it.
- Always yours: Task, TodoWrite, AskUserQuestion, Skill, web search, MCP tools, git status, git diff, git add, git
  commit, and the work-item command.
- Leave `model` out of a Task call and Baton picks the one that fits the agent.
- The person who runs this session can switch the mode off with `baton mode disable`. Do not do it yourself."""


def directives(mode: Mode) -> str:
    """Give the orchestrator's directives, or "" while the mode is off."""
    if not mode.enabled:
        return ""
    verb = "Refused" if mode.level == "strict" else "Better delegated"
    return _HEAD[mode.level] + _RULES.format(verb=verb)
