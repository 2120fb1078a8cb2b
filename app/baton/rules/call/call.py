"""A tool call in the engine's only form; `baton.clients` translates each client's payload into it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec

from baton.clients.event import CallFields
from baton.clients.tool_inputs import UnreadableInput, decoded_text, is_patch_tool, squeezed
from baton.lib.text.patches import is_patch, patched
from baton.lib.text.urls import file_path
from baton.rules.call.places.places import resolve

# An agent's own file, a client's report of its session's model, and the agent's model.

Step = Literal["call", "agent-file", "team-row", "shipped-roster", "default", "none"]
"""The deciding step, in the order of checks; `none` if no step names a model."""
Source = Literal["project", "user", "plugin", "managed"]
"""Origin of an agent's file: the project, the person, a plugin, or the machine's administrator."""


class OwnAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent as described in its file on the caller's machine; `model` may be missing there."""

    name: str
    description: str = ""
    model: str = ""
    source: Source = "user"
    path: str = ""


MODELS = frozenset({"haiku", "sonnet", "opus", "fable"})  # the only values accepted by a client's agent call
Aliases = Literal["known", "always", "never"]
"""Where an alias is set in an agent call: if the session's provider is known to have it, everywhere, nowhere."""
_ANTHROPIC = re.compile(
    r"(?:default|best|opusplan|haiku|sonnet|opus|fable"
    r"|claude-(?=.*(?:haiku|sonnet|opus|fable))(?:haiku|sonnet|opus|fable|latest|\d+(?:\.\d+)?)"
    r"(?:-(?:haiku|sonnet|opus|fable|latest|\d+(?:\.\d+)?))*)(?:\[1m\])?"
)  # a model name of Anthropic's own API and Claude Code; Bedrock, Vertex and gateways decorate such names


class SessionModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A client's report at session start about the models available to it, and whether a person is there.

    `model` is the session's own, "" if unknown. `mapped` are the aliases mapped by the environment to a model of the
    provider (`ANTHROPIC_DEFAULT_HAIKU_MODEL`). `provider` is `cloud` for Bedrock, Vertex and Foundry, and `gateway` for
    an address other than Anthropic's. `headless`: nobody can be asked in the client.
    """

    model: str = ""
    mapped: tuple[str, ...] = ()
    provider: Literal["", "cloud", "gateway"] = ""
    headless: bool = False

    def has(self, alias: str) -> bool:
        """Return whether an alias is known to name a model of the session's provider.

        A session without a report counts as Anthropic's, the client's default.
        """
        if alias in self.mapped:
            return True
        if self.provider == "cloud":
            return False
        return _ANTHROPIC.fullmatch(self.model.lower()) is not None if self.model else not self.provider


UNREPORTED = SessionModels()


class ModelChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model of an agent.

    `name` is set in the client's call: one of `MODELS`, or "" to leave the call unchanged. `full` is for a command
    line: also a full id, or "" for the client's own default. `reason` names the source in one line.
    """

    name: str = ""
    full: str = ""
    step: Step = "none"
    reason: str = ""


class ToolCall(CallFields, frozen=True, kw_only=True):
    """One tool call about to be made by an agent.

    `agent_id` is empty on the main thread and set in every sub-agent; only it distinguishes an orchestrator from a
    sub-agent (`agent_type` is also set on a main thread running a named agent). `project` identifies the project (a git
    remote or a root folder); `project_root` is its folder on the developer's machine, if known. `worktrees` are the
    other worktrees of its repository; they belong to the project as well.
    """

    session_id: str
    tool_name: str
    tool_input: dict[str, Any]
    project: str = ""
    project_root: str = ""
    worktrees: tuple[str, ...] = ()
    models: SessionModels = SessionModels()

    @property
    def is_subagent(self) -> bool:
        """Whether a sub-agent makes this call."""
        return self.agent_id != ""


def call_of(payload: CallFields, project: str, root: str, worktrees: tuple[str, ...]) -> ToolCall:
    """Build the call of a payload, made in a project."""
    return ToolCall(
        client=payload.client,
        session_id=payload.session_id,
        tool_name=payload.tool_name,
        tool_input=payload.tool_input,
        tool_use_id=payload.tool_use_id,
        agent_id=payload.agent_id,
        agent_type=payload.agent_type,
        cwd=payload.cwd,
        project=project,
        project_root=root,
        worktrees=worktrees,
        permission_mode=payload.permission_mode,
    )


# The user, team, organisation and role of a request, after authentication.


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of every request, table and key: one user of one team of one organisation.

    `role` is one of developer, lead, admin, runner, auditor; or `agent`, `delegating-agent` for a delegated agent,
    limited to one `job`, and to delegation in one `session`. Both are "" for people.
    """

    organisation: str = "default"
    team: str = "default"
    user: str = "local"
    role: str = "developer"
    job: str = ""
    session: str = ""
    agent: bool = False
    """Whether the request has only the credential of hooks and agents, without the rights of a person."""


# A tool's input in any encoding: its object, texts and paths, and its working folder.

CARRIERS = frozenset(
    {"arguments", "args", "input", "params", "parameters", "kwargs", "payload", "request", "action", "options"}
    | {"toolinput", "toolargs", "toolarguments", "functioncall", "function", "call", "json", "rawinput", "config"}
)  # keys with possible JSON in a string. Other strings are content: a JSON file is written, not called.
_MOST_OBJECTS = 4_096
_TOO_LONG = 70_000
_CONTENT = frozenset(
    {"old_string", "new_string", "replace_all", "old_str", "new_str", "file_text", "content", "prompt", "description"}
    | {"status", "activeForm", "priority", "label", "header", "question"}
)
_USUAL = _CONTENT | {
    "file_path", "pattern", "path", "glob", "output_mode", "limit", "offset", "subagent_type", "model", "query", "url",
    "edits", "todos", "questions",
}  # fmt: skip
_NESTED = frozenset({dict, list})


def objects(tool_input: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield an input and its inner objects at any depth, including JSON strings under `CARRIERS`.

    Objects with only content are omitted: edits of a file, items of a task list. Beyond the limit, an overlong command
    is yielded, so a person is asked about the call.
    """
    waiting: list[Any] = [tool_input]
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            return
        value = waiting.pop()
        if type(value) is dict:
            yield value
            values = inner(value)
        else:
            values = value
        if not _NESTED.isdisjoint(map(type, values)):
            waiting += [one for one in values if type(one) in _NESTED and not (type(one) is dict and _is_content(one))]
    if waiting:
        yield {"command": "x" * _TOO_LONG}


def _is_content(value: Mapping[str, Any]) -> bool:
    return value.keys() <= _CONTENT and _NESTED.isdisjoint(map(type, value.values()))


def inner(value: Mapping[str, Any]) -> Iterable[Any]:
    """Return the values of an object; a JSON string under one of `CARRIERS` is decoded."""
    if value.keys() <= _USUAL or CARRIERS.isdisjoint(map(squeezed, value)):
        return value.values()
    return [_carried(one) if isinstance(one, str) and squeezed(key) in CARRIERS else one for key, one in value.items()]


def _carried(value: Any) -> Any:
    while isinstance(value, str):
        try:
            decoded = decoded_text(value)
        except UnreadableInput:
            return {"command": value.ljust(_TOO_LONG)}
        if decoded is None:
            break
        value = decoded
    return value


def is_usual(value: Mapping[str, Any]) -> bool:
    """Return whether an object has only keys of the most frequent tools, none of them for a command."""
    return value.keys() <= _USUAL


def parts(tool_input: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return an input and the objects in it; most have none."""
    if _NESTED.isdisjoint(map(type, tool_input.values())) and CARRIERS.isdisjoint(tool_input):
        return (tool_input,)
    return tuple(objects(tool_input))


def holds_objects(tool_input: Mapping[str, Any]) -> bool:
    """Return whether a value of an input is an object, or a string that may contain one."""
    return dict in map(type, tool_input.values()) or not CARRIERS.isdisjoint(tool_input)


# Find the paths and texts in a tool's input, and its working folder.

# The texts in a tool's input under any keys, up to a limit on work rather than on their number.

MOST_WORK = 1 << 17
"""Maximum characters read of one input. A larger call is asked about (`has_more_texts`): padding must not hide it."""
_EACH = 32  # fixed cost of a string besides its characters: most work is done once per text
_LONG = 1_024
"""Maximum counted characters of one string. A longer one is only searched once, so a large file costs no more."""


def input_texts(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Yield the texts of an input, with `keys` also the keys of inner objects, up to the limit."""
    work = 0
    waiting = [value]
    first = True
    while waiting and work <= MOST_WORK:
        value = waiting.pop()
        work += _EACH
        if isinstance(value, str):
            work += min(len(value), _LONG)
            yield value
        elif isinstance(value, dict):
            waiting += inner(value)
            if keys and not first:
                waiting += value.keys()
        elif isinstance(value, list):
            waiting += value
        first = False


def has_more_texts(value: Any) -> bool:
    """Return whether an input has texts beyond the limit."""
    work = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        work += _EACH + (min(len(value), _LONG) if isinstance(value, str) else 0)
        if work > MOST_WORK:
            return True
        if isinstance(value, dict):
            waiting += inner(value)
            waiting += value.keys()
        elif isinstance(value, list):
            waiting += value
    return False


# The paths in the input of an MCP tool. Its keys are unknown, so all texts count; `commands` finds its commands.

_LONGEST_PATH = 4_096
_STARTS = ("/", "~", ".", "$")


def is_mcp_tool(name: str) -> bool:
    """Return whether a tool is an MCP server's: `mcp__files__write`."""
    return "__" in name


def named_paths(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """Yield every possible path among the input's texts and inner keys. `file:` URLs are decoded.

    For a patch, its files are yielded. The limit of `input_texts` applies.
    """
    for text in input_texts(tool_input, keys=True):
        if "\n" in text:
            if is_patch(text):
                yield from patched(text)
        elif (path := _path(text)) is not None:
            yield path


def _path(text: str) -> str | None:
    if not text or len(text) > _LONGEST_PATH:
        return None
    if text[:5].casefold() == "file:":
        return file_path(text)
    # A sentence that mentions a path is none; a path with spaces in it begins like one.
    if text.startswith(_STARTS) or text[1:3] in (":\\", ":/") or ("/" in text and not any(map(str.isspace, text))):
        return text
    return None


# Find the paths in a tool's input, and its working folder.

MOST_PATHS = 400  # maximum judged paths of a call; a call with more is asked about
_BARE = {"input"}  # the only key of an input given as a string or a list
_OF_SHELL_LINES = frozenset({"dir_path", "directory", "dir"})
"""Working folder of a shell line in some clients. In their other tools, it is a folder to search."""
FOLDER_KEYS = _OF_SHELL_LINES | {"workdir", "working_directory", "workingDirectory", "work_dir", "working_dir", "cwd"} | {
    "Cwd", "WorkingDirectory", "workDir", "workingDir", "working_folder", "current_directory", "currentDirectory",
}  # fmt: skip


def input_paths(
    patch_tools: Mapping[str, str], path_keys: frozenset[str], call: ToolCall, objects: tuple[Mapping[str, Any], ...]
) -> tuple[str, ...]:
    """Return the paths in a tool's input, as written: in a patch, and under `path_keys` of its `objects`.

    The path keys of an MCP tool are unknown: every possible path among its texts counts. Beyond `MOST_PATHS`, one more
    is returned as a marker.
    """
    tool_input = call.tool_input
    if is_mcp_tool(call.tool_name):
        return tuple(islice(dict.fromkeys(named_paths(tool_input)), MOST_PATHS + 1))
    patch = patch_tools.get(call.tool_name)
    is_patch = patch is not None or is_patch_tool(call.tool_name)
    # Most calls name no path; every call passes here.
    if len(objects) == 1 and not is_patch and path_keys.isdisjoint(tool_input):
        return ()
    paths: list[str] = []
    if is_patch:
        # The key differs by client: `input`, `patch`.
        given = tool_input.get(patch or "", tool_input)
        paths += (found for text in input_texts(given) for found in islice(patched(text), MOST_PATHS + 1))
    for holder in objects:
        for key in path_keys.intersection(holder):
            value = holder[key]
            if isinstance(value, str):
                paths.append(value)
            elif isinstance(value, list):
                paths += (item for item in value[: MOST_PATHS + 1] if isinstance(item, str))
        if len(paths) > MOST_PATHS:
            break
    if tool_input.keys() == _BARE:
        paths += islice(named_paths(tool_input), MOST_PATHS + 1)
    return tuple([path for path in paths if path][: MOST_PATHS + 1])


def in_its_folder(call: ToolCall) -> ToolCall:
    """Return a call with a folder in its input (`workdir`) as one made in that folder."""
    keys = FOLDER_KEYS if "command" in call.tool_input else FOLDER_KEYS - _OF_SHELL_LINES
    given = (holder[key] for holder in parts(call.tool_input) for key in keys.intersection(holder))
    folder = next((one for one in given if isinstance(one, str) and one), "")
    if not folder:
        return call
    whole = resolve(folder, "", call.cwd).whole
    return msgspec.structs.replace(call, cwd=whole, project_root=call.project_root or call.cwd)
