"""Which files a call works on, named so that two developers' copies of a project agree. It reads no shell line."""

import posixpath
import re

from app.engine.call import ToolCall

MOST = 20
"""Files of one call that are looked at."""

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


def edited_paths(call: ToolCall) -> tuple[str, ...]:
    """Name the files of an edit, a write, a patch or a read: relative to the project where they lie in it."""
    named = [call.tool_input.get("file_path"), call.tool_input.get("notebook_path")]
    for value in call.tool_input.values():
        if isinstance(value, str) and "*** Begin Patch" in value:
            named += _PATCHED.findall(value)
    if not any(named):
        return ()
    root = posixpath.normpath(call.project_root or call.cwd or "/").rstrip("/") + "/"
    whole = (posixpath.normpath(posixpath.join(call.cwd, path)) for path in named if isinstance(path, str) and path)
    return tuple(dict.fromkeys(path.removeprefix(root) for path in whole))[:MOST]
