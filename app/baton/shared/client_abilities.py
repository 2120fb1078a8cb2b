"""What each client can do with an answer, event by event, and the version that proved it.

`python -m baton.shared.client_abilities` writes docs/clients.md from it, and `baton hooks install` prints a client's part.
"""

from pathlib import Path

import msgspec

PATH = Path("docs/clients.md")


class Ability(msgspec.Struct, frozen=True, kw_only=True):
    """What a client honours in the answer to one event. `native` is the event's name there."""

    event: str
    native: str
    block: bool = False
    ask: str = ""
    """What becomes of a question: `asks` where a person can be asked, else what is done instead; "" for no question."""
    rewrite: bool = False
    context: bool = False


class ClientAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """One client: its events, how its sub-agents are known, and what else a person should know.

    `version` is the one that was driven against a real server; "" means that it was not, and all is by documentation.
    """

    name: str
    title: str
    version: str
    subagents: str
    model: str
    """Whether a sub-agent's model can be set."""
    events: tuple[Ability, ...] = ()
    notes: tuple[str, ...] = ()


CLIENTS = (
    ClientAbilities(
        name="claude-code",
        title="Claude Code",
        version="2.1.329",
        subagents="yes, by `agent_id`",
        model="yes",
        events=(
            Ability(event="SessionStart", native="SessionStart", context=True),
            Ability(event="UserPromptSubmit", native="UserPromptSubmit", block=True, context=True),
            Ability(
                event="PreToolUse",
                native="PreToolUse",
                block=True,
                ask="asks; headless it refuses",
                rewrite=True,
                context=True,
            ),
            Ability(event="PostToolUse", native="PostToolUse"),
            Ability(event="SubagentStart", native="SubagentStart", context=True),
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
            Ability(event="SessionStart", native="SessionStart", context=True),
            Ability(event="UserPromptSubmit", native="UserPromptSubmit", block=True, context=True),
            Ability(
                event="PreToolUse",
                native="PreToolUse",
                block=True,
                ask="refused with the reason",
                rewrite=True,
                context=True,
            ),
            Ability(event="PostToolUse", native="PostToolUse"),
        ),
        notes=("It runs new hooks only after a person has trusted them in `/hooks`.",),
    ),
    ClientAbilities(
        name="copilot-cli",
        title="Copilot CLI",
        version="1.0.102",
        subagents="yes, by `agentId`",
        model="yes, by GitHub's names of haiku, sonnet and opus; there is no fable",
        events=(
            Ability(event="SessionStart", native="sessionStart", context=True),
            Ability(event="UserPromptSubmit", native="userPromptSubmitted", block=True, context=True),
            Ability(
                event="PreToolUse",
                native="preToolUse",
                block=True,
                ask="asks; headless it refuses",
                rewrite=True,
                context=True,
            ),
            Ability(event="PostToolUse", native="postToolUse", context=True),
            Ability(event="SubagentStart", native="subagentStart", context=True),
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
            Ability(event="SessionStart", native="chat.message", context=True),
            Ability(event="UserPromptSubmit", native="chat.message", block=True, context=True),
            Ability(
                event="PreToolUse",
                native="tool.execute.before",
                block=True,
                ask="refused with the reason",
                rewrite=True,
                context=True,
            ),
            Ability(event="PostToolUse", native="tool.execute.after"),
        ),
        notes=(
            "Its hooks are a plugin, which runs the shim; `--pure` starts opencode without it.",
            "The context of a call stands below its result, as the call itself has no room for one.",
            "Its MCP tools are called `server_tool`: rules for `mcp__*` do not know them.",
        ),
    ),
    ClientAbilities(
        name="",
        title="Cursor, Continue, Factory droid, auggie",
        version="",
        subagents="not proven",
        model="not proven",
        notes=(
            "They read Claude Code's settings, or speak its form; none of them was driven, and no hooks are installed.",
        ),
    ),
)


def abilities_of(client: str) -> ClientAbilities:
    """Return the entry of a client that `baton hooks` knows."""
    return next(one for one in CLIENTS if one.name == client)


def summary(client: ClientAbilities) -> list[str]:
    """Return what a client can do, as `baton hooks install` prints it."""
    can = [f"{one.native} {', '.join(_words(one)) or 'is only heard'}" for one in client.events]
    return [
        f"Proven with {client.title} {client.version}: {'; '.join(can)}.",
        f"Sub-agents are known: {client.subagents}. Their model can be set: {client.model}.",
        *client.notes,
    ]


def _words(one: Ability) -> list[str]:
    words = [
        word
        for word, is_so in (("can block", one.block), ("rewrite", one.rewrite), ("add context", one.context))
        if is_so
    ]
    return [*words, f"a question: {one.ask}"] if one.ask else words


def document() -> str:
    """Return docs/clients.md."""
    text = [
        "# Clients",
        "",
        "<!-- written by `make operations` from app/baton/shared/client_abilities.py -->",
        "",
        "What each client was seen to honour in an answer to its hooks, with the version that proved it in `make e2e`.",
        "An empty cell is something that the client does not do, and that Baton does not pretend.",
        "",
        "| client | version | event | its name there | block | ask | rewrite | add context |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for client in CLIENTS:
        for one in client.events:
            marks = ["yes" if is_so else "" for is_so in (one.block, one.rewrite, one.context)]
            cells = [client.title, client.version, one.event, f"`{one.native}`", marks[0], one.ask, *marks[1:]]
            text.append(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    text += ["", "| client | version | knows sub-agents | sets their model |", "|---|---|---|---|"]
    for client in CLIENTS:
        text.append(f"| {client.title} | {client.version or 'not proven'} | {client.subagents} | {client.model} |")
    for client in CLIENTS:
        text += ["", f"## {client.title}", "", *(f"- {note}" for note in client.notes)]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    PATH.write_text(document())
