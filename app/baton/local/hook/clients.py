"""The client facts `baton hook` needs. Importing `baton.clients` would take longer than a call may."""

import os

TYPE_CHECKING = False  # as in `typing`: its import takes longer than a hook may
if TYPE_CHECKING:
    from collections.abc import Mapping


class Place:
    """A client's folder: `folder` of the home folder or the value of `variable`, and the person's hooks in it.

    `agents` is a project's folder of agent files; "" for a client whose calls name no agent. `marks` begin the
    variables that it sets for its children. `says` is the key of an answer shown to the person, or to the model if
    nothing else is shown. `awaited` are events with an awaited answer, unlike in most clients: it ends a sub-agent, or
    brings advice. `deaf` are events whose answers are not shown. `blocks` are key, value and reason of a refused
    prompt, `denies` the keys of a flat refusal of a call and its reasons. `allows` is the key of a changed input, in
    clients that change one only beside an `allow`.
    """

    def __init__(
        self,
        folder: str,
        variable: str,
        hooks: str,
        agents: str = "",
        *marks: str,
        says: str = "systemMessage",
        awaited: tuple[str, ...] = (),
        deaf: tuple[str, ...] = (),
        blocks: tuple[str, str | bool, str] = ("decision", "block", "reason"),
        denies: tuple[str, ...] = (),
        allows: str = "",
    ) -> None:
        self.folder, self.variable, self.hooks, self.agents, self.marks = folder, variable, hooks, agents, marks
        self.says, self.awaited, self.deaf = says, awaited, deaf
        self.blocks, self.denies, self.allows = blocks, denies, allows


CLIENTS = {
    "claude-code": Place(".claude", "CLAUDE_CONFIG_DIR", "settings.json", ".claude", "CLAUDECODE="),
    "codex": Place(
        ".codex", "CODEX_HOME", "hooks.json", "", "CODEX_SANDBOX", "CODEX_THREAD_ID=", "CODEX_CI=", allows="updatedInput"
    ),
    "copilot-cli": Place(
        ".copilot", "COPILOT_HOME", "hooks/baton.json", ".github", "COPILOT_CLI=", says="additionalContext",
        denies=("permissionDecision", "permissionDecisionReason"),
    ),
    "cursor": Place(
        ".cursor", "", "hooks.json", "", "CURSOR_AGENT=", says="additional_context", allows="updated_input",
        blocks=("continue", False, "user_message"), denies=("permission", "user_message", "agent_message"),
    ),
    "gemini": Place(
        ".gemini", "GEMINI_CLI_HOME", "settings.json", ".gemini", "GEMINI_CLI=",
        awaited=("PostToolUse", "PostToolUseFailure"), blocks=("decision", "deny", "reason"), denies=("decision", "reason"),
    ),
    "opencode": Place(".config/opencode", "XDG_CONFIG_HOME", "plugin/baton.js", ".opencode", "OPENCODE="),
    "qwen": Place(
        ".qwen", "QWEN_HOME", "settings.json", ".qwen", "QWEN_CODE=", says="", awaited=("PostToolUse",),
        deaf=("PreToolUse",),
    ),
}  # fmt: skip
_BELOW = {"GEMINI_CLI_HOME": ".gemini", "XDG_CONFIG_HOME": "opencode"}
"""Variables that name the folder above the client's own."""


def place_of(client: str) -> Place:
    """Return a client's place, by default Claude Code's."""
    return CLIENTS.get(client, CLIENTS["claude-code"])


def folder_of(client: str, env: "Mapping[str, str]", home: str) -> str:
    """Return the path of a client's own folder of this user."""
    place = place_of(client)
    if not (named := env.get(place.variable)):
        return os.path.join(home, place.folder)
    return os.path.join(named, _BELOW[place.variable]) if place.variable in _BELOW else named


def settings_file(client: str, env: "Mapping[str, str]", home: str) -> str:
    """Return the path of a client's hooks of this user."""
    return os.path.join(folder_of(client, env, home), *place_of(client).hooks.split("/"))
