"""What each client can do with an answer, event by event, and the version that proved it.

`python -m baton.shared.client_abilities` writes docs/clients.md from it, and `baton hooks install` prints a client's part.
"""

from functools import cache
from pathlib import Path

import msgspec

PATH = Path("docs/clients.md")
USUAL = {
    "SessionStart": "context",
    "UserPromptSubmit": "block context",
    "PreToolUse": "block ask rewrite context",
    "PostToolUse": "",
    "SubagentStart": "context",
}
"""What most clients honour in the answer to an event, of `block`, `ask`, `rewrite`, `context`."""
_WORDS = {"block": "can block", "rewrite": "rewrite", "context": "add context"}


class Ability(msgspec.Struct, frozen=True):
    """What a client honours in the answer to one event: `native` is its name there if that differs, `can` what differs from USUAL."""

    event: str
    native: str = ""
    can: str | None = None

    @property
    def name(self) -> str:
        """Return the event's name in the client's own words."""
        return self.native or self.event

    @property
    def honoured(self) -> list[str]:
        """Return the words of `block`, `ask`, `rewrite`, `context` that hold."""
        return (USUAL[self.event] if self.can is None else self.can).split()


class ClientAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """One client: its events, how its sub-agents are known, and what else a person should know.

    `version` is the one that was driven against a real server; "" means that it was not, and all is by documentation. `ask`
    is what becomes of a question: `asks` where a person can be asked, else what is done instead. `model` says whether a
    sub-agent's model can be set. `name` is "" for clients that Baton installs nothing in.
    """

    title: str
    name: str = ""
    version: str = ""
    subagents: str = "not proven"
    model: str = "not proven"
    ask: str = "refused with the reason"
    events: tuple[Ability, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def proof(self) -> str:
        """Return the version that was driven, or that none was."""
        return self.version or "not proven"

    def becomes_of_a_question(self, ability: Ability) -> str:
        """Return what a question in the answer to an event leads to, "" if there can be none."""
        return self.ask if "ask" in ability.honoured else ""


CLIENTS = (
    ClientAbilities(
        name="claude-code",
        title="Claude Code",
        version="2.1.329",
        subagents="yes, by `agent_id`",
        model="yes",
        ask="asks; headless it refuses",
        events=(
            Ability("SessionStart"),
            Ability("UserPromptSubmit"),
            Ability("PreToolUse"),
            Ability("PostToolUse"),
            Ability("SubagentStart"),
        ),
        notes=(
            "Agents of its `Workflow` tool start without a call that could be asked about, on their caller's model.",
        ),
    ),
    ClientAbilities(
        name="codex",
        title="Codex CLI",
        version="0.169.0",
        subagents="yes, by `agent_id`",
        model="no: its agents have no types",
        events=(
            Ability("SessionStart"),
            Ability("UserPromptSubmit"),
            Ability("PreToolUse"),
            Ability("PostToolUse"),
        ),
        notes=("It runs new hooks only after a person has trusted them in `/hooks`.",),
    ),
    ClientAbilities(
        name="copilot-cli",
        title="Copilot CLI",
        version="1.0.102",
        subagents="yes, by `agentId`",
        model="yes, by GitHub's names of haiku, sonnet and opus; there is no fable",
        ask="asks; headless it refuses",
        events=(
            Ability("SessionStart", "sessionStart"),
            Ability("UserPromptSubmit", "userPromptSubmitted"),
            Ability("PreToolUse", "preToolUse"),
            Ability("PostToolUse", "postToolUse", "context"),
            Ability("SubagentStart", "subagentStart"),
        ),
        notes=(
            "It also runs the hooks of a trusted project's `.claude/settings.json`; Baton recognises it by its payload.",
            "It shows a person no message of a hook: what Baton has to say reaches the model instead.",
            "Which of the models an account may use was not proven with GitHub's own service.",
            "How it names the tools of MCP servers was not proven: rules for `mcp__*` may not know them.",
        ),
    ),
    ClientAbilities(
        name="opencode",
        title="opencode",
        version="1.18.33",
        subagents="yes, by the parent of their session",
        model="no: its task tool takes none",
        events=(
            Ability("SessionStart", "chat.message"),
            Ability("UserPromptSubmit", "chat.message"),
            Ability("PreToolUse", "tool.execute.before"),
            Ability("PostToolUse", "tool.execute.after"),
        ),
        notes=(
            "Its hooks are a plugin, which runs the shim; `--pure` starts opencode without it.",
            "The context of a call stands below its result, as the call itself has no room for one.",
            "Its MCP tools are called `server_tool`: rules for `mcp__*` do not know them.",
        ),
    ),
    ClientAbilities(
        name="gemini",
        title="Gemini CLI",
        version="0.61.0",
        subagents="by the time: from the call of `invoke_agent` to its result. Calls of the turn that starts it are the main agent's",
        model="no: its agent tool takes none",
        events=(
            Ability("SessionStart"),
            Ability("UserPromptSubmit", "BeforeAgent"),
            Ability("PreToolUse", "BeforeTool", "block ask rewrite"),
            Ability("PostToolUse", "AfterTool", "context"),
        ),
        notes=(
            "A question would end a run without a terminal in silence, so it is a refusal that names the way out.",
            "Advice on a call stands below its result.",
            "Of sub-agents that run at once it is not known which one makes a call: they share one history, and have no type.",
            (
                "A sub-agent counts as ended with its result, at the next prompt, at the end of the turn or the session, when the main"
                " agent's model is asked before it has made a call, and after an hour without a call. Without Redis none counts"
                " as running, and the answer says `degraded: subagents`."
            ),
            (
                "A sub-agent whose first call Gemini refuses itself, such as a tool that it does not have, is held for the main agent"
                " from then on, with those that run beside it: no hook tells it from a main agent that is back."
            ),
            "It runs a project's hooks only in a trusted folder.",
        ),
    ),
    ClientAbilities(
        name="qwen",
        title="Qwen Code",
        version="0.24.4",
        subagents="yes, by `agent_id`; where its calls have no `tool_call_id` (earlier versions) by the time, from SubagentStart to SubagentStop",
        model="no: it ignores a changed input",
        ask="asks; headless it refuses",
        events=(
            Ability("SessionStart"),
            Ability("UserPromptSubmit"),
            Ability("PreToolUse", can="block ask"),
            Ability("PostToolUse", can="context"),
            Ability("SubagentStart"),
        ),
        notes=(
            "Advice on a call stands below its result.",
            (
                "It shows a person no message of a hook: what Baton has to say reaches the model instead, at a session's start and"
                " with a prompt."
            ),
            (
                "In earlier versions calls name no sub-agent: of several at once it is not known which one makes a call, and one that runs in"
                " the background is held for the main agent."
            ),
        ),
    ),
    ClientAbilities(
        name="cursor",
        title="Cursor",
        subagents="no: a sub-agent's calls count as a main agent's",
        model="no: left alone",
        events=(
            Ability("SessionStart", "sessionStart"),
            Ability("UserPromptSubmit", "beforeSubmitPrompt", "block"),
            Ability("PreToolUse", "preToolUse"),
            Ability("PostToolUse", "postToolUse", "context"),
            Ability("SubagentStart", "subagentStart", "block"),
        ),
        notes=(
            "It was not driven: all is by its documentation, and by what others have recorded of version 3.9.",
            "The orchestrator mode holds its sub-agents as well: guardrails are what it is good for there.",
            "It also runs the hooks of Claude Code's settings; Baton recognises it by its payload. With both, Baton is asked twice.",
            "What a person is told reaches the model instead: its hooks show them no message.",
        ),
    ),
    ClientAbilities(
        name="continue",
        title="Continue CLI",
        subagents="no: a sub-agent's calls count as a main agent's",
        model="no: its agent tool takes none",
        ask="asks; headless it refuses",
        events=(
            Ability("SessionStart"),
            Ability("UserPromptSubmit"),
            Ability("PreToolUse"),
            Ability("PostToolUse", can="context"),
        ),
        notes=(
            "It was not driven: all is by the source of `@continuedev/cli` 1.5.47, which reads hooks and **fires none of its events yet**.",
            "It also reads Claude Code's settings; Baton recognises it by its payload.",
        ),
    ),
    ClientAbilities(
        title="Factory droid, auggie",
        notes=("They speak Claude Code's form; none of them was driven, and no hooks are installed.",),
    ),
)


def abilities_of(client: str) -> ClientAbilities:
    """Return the entry of a client that `baton hooks` knows."""
    return next(one for one in CLIENTS if one.name == client)


def can_ask(client: str) -> bool:
    """Return whether a client brings a question before a person; others refuse such a call. Callers of the API can."""
    return client not in _REFUSING


_REFUSING = frozenset(one.name for one in CLIENTS if not one.ask.startswith("asks"))


def summary(client: ClientAbilities) -> list[str]:
    """Return what a client can do, as `baton hooks install` prints it."""
    proof = (
        f"Proven with {client.title} {client.version}"
        if client.version
        else f"By {client.title}'s documentation, not proven"
    )
    return [
        f"{proof}: {'; '.join(_sentence(client, one) for one in client.events)}.",
        f"Sub-agents are known: {client.subagents}. Their model can be set: {client.model}.",
        *client.notes,
    ]


@cache
def takes_context(client: str, event: str) -> bool:
    """Return whether a client hands the context in the answer to an event to its model; one that is not listed does."""
    listed = [one for known in CLIENTS if known.name == client for one in known.events if one.event == event]
    return not listed or "context" in listed[0].honoured


def _sentence(client: ClientAbilities, one: Ability) -> str:
    words = [word for key, word in _WORDS.items() if key in one.honoured]
    if question := client.becomes_of_a_question(one):
        words.append(f"a question: {question}")
    return f"{one.name} {', '.join(words) or 'is only heard'}"


def document() -> str:
    """Return docs/clients.md."""
    text = [
        "# Clients",
        "",
        "<!-- written by `make operations` from app/baton/shared/client_abilities.py -->",
        "",
        "What each client was seen to honour in an answer to its hooks, with the version that proved it in `make e2e`; of one that",
        'is "not proven", what its documentation says.',
        "An empty cell is something that the client does not do, and that Baton does not pretend.",
        "",
        "| client | version | event | its name there | block | ask | rewrite | add context |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for client in CLIENTS:
        for one in client.events:
            block, rewrite, context = ("yes" if key in one.honoured else "" for key in _WORDS)
            ask = client.becomes_of_a_question(one)
            text.append(_row(client.title, client.proof, one.event, f"`{one.name}`", block, ask, rewrite, context))
    text += ["", "| client | version | knows sub-agents | sets their model |", "|---|---|---|---|"]
    text += [_row(client.title, client.proof, client.subagents, client.model) for client in CLIENTS]
    for client in CLIENTS:
        text += ["", f"## {client.title}", "", *(f"- {note}" for note in client.notes)]
    return "\n".join(text) + "\n"


def _row(*cells: str) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


if __name__ == "__main__":
    PATH.write_text(document())
