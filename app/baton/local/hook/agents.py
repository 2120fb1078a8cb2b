"""Reads files of agents, skills and commands, like `gather_agents` and `send_texts` in `hooks/baton-lib.sh`."""

import glob
import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import translate

from baton.local.hook.clients import folder_of, place_of
from baton.local.hook.project import text_of

MOST_FILES = 200
MOST_LINES = 20_000
LARGEST = 120_000
"""Bytes of all front matter together."""
_LONGEST, _LONG, _MANY = 300, 3_000, 60_000
"""Bytes of a value, and of a description until so many bytes were read in all."""
_KEPT = frozenset({b"name", b"description", b"model", b"mode", b"disable"})
_SPEAKERS = frozenset({b"user", b"assistant", b"human", b"context", b"commentary"})
"""Words that begin a line of an example in a description, and are no keys."""
_KEY = re.compile(rb"([a-z][A-Za-z0-9_-]*):(?:[ \t]|$)")
_FENCE = re.compile(rb"---[ \t]*")
_CUT = re.compile(rb"[ \t][^ \t]*\Z")
_PLUGIN = re.compile(r'"([A-Za-z0-9._-]+)@([A-Za-z0-9._-]+)"\s*:\s*true')


def gather(client: str, start: str, root: str, env: Mapping[str, str], home: str) -> bytes:
    """Return `= SOURCE FILE` for each file, and lines of its front matter, each after a space; b"" without files."""
    parts: list[bytes] = []
    total = count = 0
    for source, path in _files(client, start, root, env, home):
        if count >= MOST_FILES or total >= LARGEST:
            break
        if not os.path.isfile(path) or not os.access(path, os.R_OK):
            continue
        count += 1
        lines = _front_matter(path, _LONG if total < _MANY else _LONGEST)
        if lines is not None:
            parts.append(b"= %b %b\n" % (source.encode(), os.fsencode(os.path.basename(path))))
            parts += lines
            total += sum(map(len, lines)) - len(lines)
    return b"".join(parts)


def _front_matter(path: str, longest: int) -> list[bytes] | None:
    found: list[bytes] = []
    room = 0
    with open(path, "rb") as file:
        for number in range(MOST_LINES):
            raw = file.readline()
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 0:
                # Some editors put a byte order mark before the fence.
                if not _FENCE.fullmatch(line.removeprefix(b"\xef\xbb\xbf")):
                    return None
                continue
            if not raw or _FENCE.fullmatch(line):
                break
            key = _KEY.match(line)
            # A line without a key continues the value above it.
            if key and key[1] not in _SPEAKERS:
                room = longest if key[1] == b"description" else _LONGEST if key[1] in _KEPT else 0
            if room > 0:
                # A long value is cut at a blank, so no character is torn and the following keys are still read.
                cut = _CUT.search(line[:room])
                kept = line if len(line) <= room else line[: cut.start() if cut else 0]
                found.append(b" %b\n" % kept)
                room -= len(line) + 1
    return found


def _files(client: str, start: str, root: str, env: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    own = place_of(client).agents
    if not own:  # Codex names no agent in the call that starts one
        return
    user = folder_of(client, env, home)
    if client == "claude-code":
        yield from _below("managed", "/etc/claude-code/.claude/agents", ("",))
    place = os.path.realpath(start)
    while True:
        yield from _agents("project", os.path.join(place, own))
        if place in {root, os.path.dirname(place)}:
            break
        place = os.path.dirname(place)
    yield from _agents("user", user)
    if client == "claude-code":
        yield from _plugins(user, root)


def _plugins(user: str, root: str) -> Iterator[tuple[str, str]]:
    installed = text_of(os.path.join(user, "plugins", "installed_plugins.json"))
    if not installed:
        return
    settings = (os.path.join(user, "settings.json"), *(
        os.path.join(root, ".claude", name) for name in ("settings.json", "settings.local.json")
    ))  # fmt: skip
    for name, market in (found for path in settings for found in _PLUGIN.findall(text_of(path))):
        for place in sorted(
            glob.glob(os.path.join(glob.escape(os.path.join(user, "plugins", "cache", market, name)), "*"))
        ):
            if f'"{place}"' in installed or f'"{place}"'.replace("\\", "\\\\") in installed:
                yield from _below(f"plugin:{name}", os.path.join(place, "agents"), ("", "*"))


def _agents(source: str, folder: str) -> Iterator[tuple[str, str]]:
    yield from _below(source, os.path.join(folder, "agent"), ("",))
    yield from _below(source, os.path.join(folder, "agents"), ("", "*", "*/*"))


def _below(source: str, folder: str, depths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for depth in depths:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), depth, "*.md")), key=os.fsencode):
            yield source, path


_MOST_TEXTS = 1_000_000


def skill_texts(name: str, start: str, root: str, env: Mapping[str, str], home: str) -> bytes:
    """Return the files Claude Code may load under a name. `?` matches any one byte."""
    skill, command = (re.compile(translate(one).encode(), re.IGNORECASE) for one in (name, f"{name}.md"))
    named = re.compile(rb"^name:.*" + re.escape(name).replace(r"\?", ".").encode(), re.MULTILINE)
    texts: list[bytes] = []
    for path in _skill_files(start, root, env, home):
        folder, file = os.path.split(path)
        is_skill = file.lower() == "skill.md"
        if not (is_skill or command.match(os.fsencode(file))):
            continue
        try:
            with open(path, "rb") as opened:
                text = opened.read(_MOST_TEXTS)
        except OSError:
            continue
        if not is_skill or skill.match(os.fsencode(os.path.basename(folder))) or named.search(text):
            texts.append(text)
    return b"".join(texts)[:_MOST_TEXTS]


def _skill_files(start: str, root: str, env: Mapping[str, str], home: str) -> Iterator[str]:
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
