"""The client facts `baton hook` needs. Importing `baton.clients` would take longer than a call may."""

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import translate
from typing import NamedTuple


class Place(NamedTuple):
    """A client's folder: `folder` of the home folder or the value of `variable`, and the person's hooks in it.

    `agents` is a project's folder of agent files; "" for a client whose calls name no agent. `says` is the key of an
    answer shown to the person, or to the model if nothing else is shown. `awaited` are events with an awaited answer,
    unlike in most clients: it ends a sub-agent, or brings advice. `deaf` are events whose answers are not shown.
    """

    folder: str
    variable: str
    hooks: str
    agents: str = ""
    says: str = "systemMessage"
    awaited: tuple[str, ...] = ()
    deaf: tuple[str, ...] = ()


CLIENTS = {
    "claude-code": Place(".claude", "CLAUDE_CONFIG_DIR", "settings.json", ".claude"),
    "codex": Place(".codex", "CODEX_HOME", "hooks.json"),
    "copilot-cli": Place(".copilot", "COPILOT_HOME", "hooks/baton.json", ".github", "additionalContext"),
    "cursor": Place(".cursor", "", "hooks.json", "", "additional_context"),
    "gemini": Place(
        ".gemini", "GEMINI_CLI_HOME", "settings.json", ".gemini", awaited=("PostToolUse", "PostToolUseFailure")
    ),
    "opencode": Place(".config/opencode", "XDG_CONFIG_HOME", "plugin/baton.js", ".opencode"),
    "qwen": Place(".qwen", "QWEN_HOME", "settings.json", ".qwen", "", ("PostToolUse",), ("PreToolUse",)),
}
_BELOW = {"GEMINI_CLI_HOME": ".gemini", "XDG_CONFIG_HOME": "opencode"}
"""Variables that name the folder above the client's own."""


def place_of(client: str) -> Place:
    """Return a client's place, by default Claude Code's."""
    return CLIENTS.get(client, CLIENTS["claude-code"])


def folder_of(client: str, env: Mapping[str, str], home: str) -> str:
    """Return the path of a client's own folder of this user."""
    place = place_of(client)
    if not (named := env.get(place.variable)):
        return os.path.join(home, place.folder)
    return os.path.join(named, _BELOW[place.variable]) if place.variable in _BELOW else named


def settings_file(client: str, env: Mapping[str, str], home: str) -> str:
    """Return the path of a client's hooks of this user."""
    return os.path.join(folder_of(client, env, home), *place_of(client).hooks.split("/"))


# The texts of the skills and commands of a name, as `send_texts` in `hooks/baton-lib.sh` reads them.

MOST_BYTES = 1_000_000


def gather(name: str, start: str, root: str, env: Mapping[str, str], home: str) -> bytes:
    """Return the files Claude Code may load under a name. `?` matches any one byte."""
    skill, command = (re.compile(translate(one).encode(), re.IGNORECASE) for one in (name, f"{name}.md"))
    named = re.compile(rb"^name:.*" + re.escape(name).replace(r"\?", ".").encode(), re.MULTILINE)
    texts: list[bytes] = []
    for path in _files(start, root, env, home):
        folder, file = os.path.split(path)
        is_skill = file.lower() == "skill.md"
        if not (is_skill or command.match(os.fsencode(file))):
            continue
        try:
            with open(path, "rb") as opened:
                text = opened.read(MOST_BYTES)
        except OSError:
            continue
        if not is_skill or skill.match(os.fsencode(os.path.basename(folder))) or named.search(text):
            texts.append(text)
    return b"".join(texts)[:MOST_BYTES]


def _files(start: str, root: str, env: Mapping[str, str], home: str) -> Iterator[str]:
    user = env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    folders = [os.path.join(user, one) for one in ("skills", "commands", "plugins")] + ["/etc/claude-code/.claude"]
    place = os.path.realpath(start)
    while True:
        folders += [os.path.join(place, ".claude", one) for one in ("skills", "commands")]
        if place in {root, os.path.dirname(place)}:
            break
        place = os.path.dirname(place)
    for folder in folders:
        # Links are followed, as the client does; the target of a cycle is read once.
        seen: set[str] = set()
        for place, below, files in os.walk(folder, followlinks=True):
            real = os.path.realpath(place)
            if real in seen:
                below.clear()
                continue
            seen.add(real)
            yield from (os.path.join(place, file) for file in sorted(files))
