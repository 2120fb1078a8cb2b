"""Find the paths that the input of a tool names, and the folder that it is to run in."""

from collections.abc import Mapping
from itertools import islice

import msgspec

from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import patched
from baton.engine.call.mcp_tools import is_mcp_tool, named_paths
from baton.engine.call.places.places import resolve

MOST_PATHS = 400
"""Paths of a call that are judged; a call with more is asked about."""
_OF_SHELL_LINES = frozenset({"dir_path", "directory"})
"""What Gemini CLI and Qwen Code call the folder of a shell line. In their other tools, that is a folder to look into."""
FOLDER_KEYS = _OF_SHELL_LINES | {"workdir", "working_directory", "workingDirectory", "work_dir", "working_dir", "cwd"}


def input_paths(patch_tools: Mapping[str, str], path_keys: frozenset[str], call: ToolCall) -> tuple[str, ...]:
    """Return the paths that a tool's input names, as written: in a patch, and under `path_keys`.

    Which keys of an MCP tool hold paths is not known: every text that can be one counts. Over `MOST_PATHS` one more is
    returned, so that it is known that there are more.
    """
    tool_input = call.tool_input
    if is_mcp_tool(call.tool_name):
        return tuple(islice(dict.fromkeys(named_paths(tool_input)), MOST_PATHS + 1))
    patch = patch_tools.get(call.tool_name)
    # Most calls name no path; this is on the way of every one of them.
    if patch is None and path_keys.isdisjoint(tool_input):
        return ()
    paths: list[str] = []
    if patch is not None:
        # Clients differ in the key: `input`, `patch`.
        texts = [tool_input[patch]] if patch in tool_input else list(tool_input.values())
        paths += (found for text in texts if isinstance(text, str) for found in islice(patched(text), MOST_PATHS + 1))
    for key in path_keys.intersection(tool_input):
        value = tool_input[key]
        if isinstance(value, str):
            paths.append(value)
        elif isinstance(value, list):
            paths += (item for item in value[: MOST_PATHS + 1] if isinstance(item, str))
    return tuple([path for path in paths if path][: MOST_PATHS + 1])


def in_its_folder(call: ToolCall) -> ToolCall:
    """Return a call whose input names a folder to run in (`workdir`) as one that is made there."""
    keys = FOLDER_KEYS if "command" in call.tool_input else FOLDER_KEYS - _OF_SHELL_LINES
    given = (call.tool_input[key] for key in keys if key in call.tool_input)
    folder = next((one for one in given if isinstance(one, str) and one), "")
    if not folder:
        return call
    whole = resolve(folder, "", call.cwd).whole
    return msgspec.structs.replace(call, cwd=whole, project_root=call.project_root or call.cwd)
