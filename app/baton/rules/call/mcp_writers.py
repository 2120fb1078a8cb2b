"""Detect tools that change or read files by name and input shape: no client sends a tool's annotations."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from baton.clients.tool_inputs import name_words
from baton.rules.call.call import inner

_EDITS = frozenset(
    {"write", "edit", "replace", "overwrite", "patch", "insert", "append", "prepend", "rename", "refactor", "modify"}
    | {"create", "update", "delete", "remove", "save", "put", "move", "copy", "apply", "mkdir", "rmdir", "touch", "add"}
    | {
        "set", "push", "format", "fix", "unlink", "truncate", "upsert", "generate", "scaffold", "restore", "revert",
        "mv", "symlink", "chmod", "chown", "unzip", "untar", "unpack", "download",
    }
)  # fmt: skip
"""Verbs of changing tools; their objects decide whether it is a file."""
_LOOKS = frozenset(
    {"read", "get", "list", "search", "find", "fetch", "view", "show", "describe", "query", "stat", "stats", "check"}
    | {"validate", "lint", "analyze", "analyse", "preview", "diff", "review", "explain", "inspect", "count", "lookup"}
    | {"open", "browse", "resolve", "summarize", "compare", "test", "think", "ask", "grep", "glob", "ls", "cat"}
    | {
        "send", "post", "request", "call", "invoke", "publish", "http", "api", "screenshot", "navigate", "click",
        "upload",
    }
)  # fmt: skip
"""Verbs of tools that change no project file, whatever their input."""
_FIRM = frozenset({"write", "edit", "replace", "overwrite", "patch", "insert", "delete", "rename", "save", "mkdir"})
"""Verbs that count even next to a reading verb: `find_and_replace`, `read_write`."""
_ELSEWHERE = frozenset(
    {"memory", "memories", "note", "notes", "plan", "todo", "todos", "issue", "issues", "ticket", "comment", "message"}
    | {
        "event", "calendar", "email", "mail", "draft", "label", "tag", "branch", "commit", "release", "milestone",
        "sprint",
    }
    | {
        "entity", "entities", "relation", "relations", "observation", "observations", "record", "row", "table",
        "bookmark",
    }
    | {"channel", "reaction", "reminder", "deployment", "environment", "variable", "cookie", "bucket", "worktree"}
)  # fmt: skip
"""Objects outside the files of a project; a key for content and one for a path still make it a file."""
_PATHS = frozenset(
    {"path", "paths", "file", "files", "filename", "filepath", "filenames", "folder", "directory", "dir"}
)
_ENDS = frozenset({"source", "destination", "src", "dst", "dest", "from", "to", "old", "new", "target", "link"})
_CONTENT = frozenset(
    {"content", "contents", "text", "body", "data", "code", "patch", "diff", "edits", "edit", "replacement", "replace"}
    | {"str", "string", "lines", "html", "markdown", "snippet", "repl", "value", "changes"}
)
_READS = frozenset({
    "read", "get", "list", "search", "find", "fetch", "view", "show", "open", "browse", "grep", "glob", "ls", "cat",
    "lookup", "inspect", "stat", "query", "rg", "ripgrep", "tree", "definition", "definitions", "references", "hover",
    "outline", "overview", "symbols", "implementations", "go",
})  # fmt: skip
"""Verbs of tools that read or search files, where something else tells that it is files."""
_FILES = _PATHS | {
    "directories",
    "symbol",
    "symbols",
    "tree",
    "definition",
    "definitions",
    "references",
    "outline",
    "glob",
}
_SEARCHES = frozenset({"search", "find", "grep", "rg", "ripgrep", "query"})
_SEARCHED = frozenset({"code", "codebase", "pattern", "text", "regex", "regexp", "source"})
_NOT_FILES = _ELSEWHERE | {
    "request", "diagnostics", "lint", "doc", "documentation", "page", "url", "wiki", "node", "user", "job", "log",
    "screenshot", "resource", "project", "config",
}  # fmt: skip
"""What such tools read beside the files of a project."""
_MOST_KEYS = 200
_NO_FILE = frozenset({"memory", "url", "uri", "api", "json", "xml", "issue", "repo"})


def edits_files(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Return whether an MCP tool with this input creates, changes, moves or removes files."""
    changes, elsewhere, looks = _verbs(tool)
    if looks:
        return False
    keys = _keys(tool_input)
    has_path = any(not _PATHS.isdisjoint(words) and _NO_FILE.isdisjoint(words) for words in keys)
    if not (has_path or _names_file_uri(tool_input) or (changes and _is_move(keys, tool_input))):
        return False
    has_content = any(not _CONTENT.isdisjoint(words) and _PATHS.isdisjoint(words) for words in keys)
    return has_content if elsewhere or not changes else True


def _names_file_uri(tool_input: Mapping[str, Any]) -> bool:
    return any(isinstance(one, str) and one[:5].casefold() == "file:" for one in tool_input.values())


def looks_into_files(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Return whether a tool with this input reads or searches files: `mcp__serena__find_symbol`, `lsp_hover`."""
    words = frozenset(name_words(tool.rpartition("__")[2]))
    verbs = words & _READS
    if not verbs or not tool_input or not words.isdisjoint(_FIRM):
        return False
    if not _NOT_FILES.isdisjoint([word.removesuffix("s") for word in words] + [*words]):
        return False
    named = words.union(*(key for key in _keys(tool_input) if _NO_FILE.isdisjoint(key)))
    is_search = not _SEARCHES.isdisjoint(words) and not _SEARCHED.isdisjoint(named)
    return is_search or not _FILES.isdisjoint(named) or _names_file_uri(tool_input)


def only_looks(tool: str) -> bool:
    """Return whether an MCP tool changes no files, by its name."""
    return _verbs(tool)[2]


@lru_cache(maxsize=1_024)
def _verbs(tool: str) -> tuple[bool, bool, bool]:
    """Return by name: whether the tool changes something, acts on something other than files, only reads."""
    words = frozenset(name_words(tool.rpartition("__")[2]))
    changes = not _EDITS.isdisjoint(words)
    looks = not _LOOKS.isdisjoint(words) and _FIRM.isdisjoint(words)
    return changes, not _ELSEWHERE.isdisjoint(words), looks


def _keys(tool_input: Mapping[str, Any]) -> list[frozenset[str]]:
    """Return the words of each key, also of objects one level below: `{files: [{path, content}]}`."""
    found: list[str] = []
    for key, value in zip(tool_input, inner(tool_input), strict=True):
        found.append(key)
        for one in value[:2] if isinstance(value, list) else (value,):
            if isinstance(one, dict):
                found += list(one)[:_MOST_KEYS]
        if len(found) > _MOST_KEYS:
            break
    return [frozenset(name_words(key)) for key in found[:_MOST_KEYS]]


def _is_move(keys: list[frozenset[str]], tool_input: Mapping[str, Any]) -> bool:
    """Return whether the input has two ends, one like a path: `{source: "a.py", destination: "b/a.py"}`."""
    ends = sum(not _ENDS.isdisjoint(words) for words in keys)
    return ends > 1 and any(isinstance(one, str) and ("/" in one or "." in one) for one in tool_input.values())
