"""The files named in a patch: `apply_patch`, unified diff, context diff or git diff."""

import re
from collections.abc import Iterator

PATCH = "*** Begin Patch"
PATCHED = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""Finds the files in a patch of `apply_patch`."""
_DIFFED = re.compile(
    r'^(?:(?:\+\+\+|---|\*\*\*) (?!/dev/null)"?([^\t\n"]+)|(?:rename|copy) (?:from|to) "?([^\n"]+)|Index: ([^\n]+)'
    r'|diff --git "?([^\n"]+?)"? "?(?=[a-z]/)([^\n"]+))',
    re.MULTILINE,
)  # finds the files in a diff. A mode change or binary file is named only in its `diff --git` line.
_PREFIX = re.compile(r"[abciow12]/")


def is_patch(text: str) -> bool:
    """Return whether a string is or contains a patch."""
    return PATCH in text or "\n+++ " in text or text.startswith(("--- ", "diff --git ", "Index: "))


def patched(text: str, strip: int = 1) -> Iterator[str]:
    """Yield the files named in a patch, without the first `strip` folders of a diff's paths (`patch -p`)."""
    if "*** " in text:
        is_diff = True
        for found in PATCHED.finditer(text):
            is_diff = False
            yield found[1].strip()
        if not is_diff:
            return
    for found in _DIFFED.finditer(text):
        for name in filter(None, found.groups()):
            yield from _stripped(name.strip(), strip)


def _stripped(name: str, strip: int) -> Iterator[str]:
    if strip != 1 and name.count("/") >= strip:
        yield name.split("/", strip)[-1]
    yield name[2:] if _PREFIX.match(name) else name


# Settings in a git configuration file, or in a written part of one.

_FILE = re.compile(
    r"(?:^|/)(?:\.git/(?:.*/)?config(?:\.worktree)?|\.?gitconfig[^/]*|[^/]+\.gitconfig|git/config[^/]*)\Z",
    re.IGNORECASE,
)
_PART = re.compile(
    r"""\[\s*([\w.-]+)(?:[ \t]+"([^"\n]*)")?\s*\]|^[ \t]*[#;][^\n]*|(?:^|(?<=[\]'"+/\s]))[ \t]*([A-Za-z][\w-]*)[ \t]*=[ \t]*([^\n]*?)[ \t]*$""",
    re.MULTILINE,
)
_QUOTE_OF_SHELL = re.compile(r"""["']\s*(?:[0-9]?>|[|;&)]|\Z).*\Z|[ \t]+[#;].*\Z""")
_SECTIONS = {
    "sshcommand": "core", "fsmonitor": "core", "hookspath": "core", "pager": "core", "editor": "core", "askpass": "core",
    "gitproxy": "core", "clean": "filter.?", "smudge": "filter.?", "process": "filter.?", "command": "diff.?",
    "textconv": "diff.?", "external": "diff", "driver": "merge.?", "helper": "credential", "path": "include",
    "program": "gpg", "cmd": "difftool.?", "packobjectshook": "uploadpack", "templatedir": "init",
    "difffilter": "interactive",
}  # fmt: skip
"""The section of a key for a program, if the section's line is not part of the string."""


def is_git_settings(path: str) -> bool:
    """Return whether a path names a git configuration file."""
    return _FILE.search(path.replace("\\", "/").rstrip()) is not None


def settings_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys, with their sections, and the values of a string."""
    section = ""
    for found in _PART.finditer(text.replace("\\\n", "").replace("\\n", "\n").replace("\\t", "\t")):
        if not found[3]:
            section = (f"{found[1]}.{found[2]}" if found[2] else found[1]) or section
            continue
        value = _QUOTE_OF_SHELL.sub("", found[4]).strip().strip('"')
        guessed = _SECTIONS.get(found[3].lower(), "alias" if value.startswith("!") else "")
        yield f"{section or guessed}.{found[3]}", value.replace('\\"', '"')
