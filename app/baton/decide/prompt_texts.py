"""Asks the shim for the text of a skill or a command before it is loaded, and reads it.

Claude Code before 2.1.332 runs the shell lines of such a text without a hook. The file is on the developer's machine.
So the answer to the event before has a header `Baton-Wants: texts NAME ABOUT`, and the shim posts the files of that
name with `about=ABOUT`.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

import msgspec

from baton.clients.event import HookEvent, text
from baton.kernel.base.errors import Invalid
from baton.lib.text.prompt_files import shell_lines

MOST_BYTES = 1_000_000
"""Bytes of the texts that the shim sends. More are asked about."""
MOST_LINES = 100
"""Shell lines of one text that are judged. More are asked about."""
LONGEST = 4_000
"""Characters of arguments that are sent along; longer ones may be any command."""
_TOOLS = frozenset({"Skill", "SlashCommand"})
_PLAIN = re.compile(rb"[^A-Za-z0-9._-]")
_ARGUMENTS = re.compile(r"\$(?:ARGUMENTS(?:\[(\d)\])?|\{ARGUMENTS\}|(\d))")
_UNKNOWN = '; $ARGUMENTS "$@"'
"""Stands for arguments that are not known: a program that nobody knows is asked about."""


class About(msgspec.Struct, frozen=True, array_like=True):
    """The facts of the event needed to answer its texts."""

    event: str
    session_id: str
    agent_id: str
    agent_type: str
    cwd: str
    tool_use_id: str
    name: str
    arguments: str


_decode = msgspec.json.Decoder(About).decode


def wanted(event: HookEvent) -> str:
    """Return the header's value for a Claude Code event loading a skill or a command; "" for any other."""
    if event.client != "claude-code" or (event.name == "PreToolUse" and event.tool_name not in _TOOLS):
        return ""
    given = event.tool_input
    name = (event.command_name or text(given, "skill", "command", "name")).lstrip("/").split(" ")[0]
    words = event.command_args or text(given, "args", "arguments")
    last = _PLAIN.sub(b"?", name.rpartition(":")[2].encode("utf-8", "replace"))[:200]
    about = About(
        event.native_name,
        event.session_id,
        event.agent_id,
        event.agent_type,
        event.cwd,
        event.tool_use_id,
        name[:200],
        words if len(words) <= LONGEST else _UNKNOWN,
    )
    return f"texts {last.decode()} {urlsafe_b64encode(msgspec.json.encode(about)).decode()}" if last else ""


def read_about(value: str, client: str) -> tuple[HookEvent, About]:
    """Return the event of a skill's text. Raises Invalid."""
    try:
        about = _decode(urlsafe_b64decode(value))
    except (msgspec.MsgspecError, Error, ValueError) as error:
        raise Invalid(
            "about", "differs from the server's request; update Baton's hooks: `baton hooks install`"
        ) from error
    event = HookEvent(
        client=client,
        name="PreToolUse" if about.event == "PreToolUse" else "UserPromptExpansion",
        native_name=about.event,
        session_id=about.session_id,
        agent_id=about.agent_id,
        agent_type=about.agent_type,
        cwd=about.cwd,
        tool_use_id=about.tool_use_id,
        tool_name="Bash",
    )
    return event, about


def lines_of(body: bytes, about: About) -> list[str]:
    """Return the shell lines of the texts, with the arguments in their places."""
    found = shell_lines((), body.decode("utf-8", "replace"))
    words = about.arguments.split()

    def fill(place: re.Match[str]) -> str:
        at = place[1] or place[2]
        # Claude Code counts from 0 in brackets, from 1 behind `$`.
        number = -1 if at is None else int(at) - (place[1] is None)
        return about.arguments if at is None else words[number] if 0 <= number < len(words) else ""

    if about.arguments == _UNKNOWN:
        return [_ARGUMENTS.sub(lambda _: _UNKNOWN, line) for line in found]
    return [_ARGUMENTS.sub(fill, line) for line in found]
