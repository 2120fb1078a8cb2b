"""What `baton hook` finds out once a session: open work items, and checksums of what is installed."""

import os
import re
import subprocess
from collections.abc import Mapping

COUNT_S = 5
"""Seconds that the command which counts work items may take; the client gives the whole hook 10."""
_ENTRY = re.compile(rb"baton(?:-hook\.(?:sh|ps1)|(?:\.exe)?[\\\"']* hook)[\\\"']* [a-z-]+ [A-Za-z]+(?: block)?")
_OFF = re.compile(rb'"disableAllHooks"\s*:\s*true|"hooksConfig"')
_POLYNOMIAL = 0x04C11DB7
_PLUGINS = frozenset({"opencode"})
"""Clients whose hooks are a program: all of it counts, not its entries."""


def count_work_items(command: str, root: str) -> str:
    """Return the number of open work items as text, "" if it is unknown."""
    if command:
        null = subprocess.DEVNULL
        try:  # it is the person's own command, from the config file alone
            ran = subprocess.run(  # noqa: S602
                command, shell=True, cwd=root, stdin=null, stdout=subprocess.PIPE, timeout=COUNT_S, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        found = re.search(rb"[0-9]+$", ran.stdout.rstrip(b"\r\n"))
        return found[0].decode() if found and ran.returncode == 0 else ""
    folder = os.path.join(root, ".htmlgraph")
    if not os.path.isdir(folder):
        return ""
    try:
        names = os.listdir(os.path.join(folder, "features"))
    except OSError:
        names = []
    return str(sum(name.endswith(".html") and not name.startswith(".") for name in names))


def settings_file(client: str, env: Mapping[str, str], home: str) -> str:
    """Return the path of a client's settings of this user."""
    config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    folders = {
        "codex": (env.get("CODEX_HOME") or os.path.join(home, ".codex"), "hooks.json"),
        "opencode": (os.path.join(config, "opencode", "plugin"), "baton.js"),
        "copilot-cli": (os.path.join(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "hooks"), "baton.json"),
        "claude-code": (env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json"),
        "cursor": (os.path.join(home, ".cursor"), "hooks.json"),
        "continue": (env.get("CONTINUE_GLOBAL_DIR") or os.path.join(home, ".continue"), "settings.json"),
        "gemini": (os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini"), "settings.json"),
        "qwen": (env.get("QWEN_HOME") or os.path.join(home, ".qwen"), "settings.json"),
    }
    return os.path.join(*folders.get(client, folders["claude-code"]))


def digests(client: str, shim: str, library: str, settings: str) -> str:
    """Return the checksums of two files of the shim and of a client's entries, and whether hooks are off.

    They are those of `measure` in `hooks/baton-lib.sh`: `cksum` and length of each, and a count.
    """
    text = _read(settings) or b""
    if client not in _PLUGINS:
        found = sorted(match[0] for match in _ENTRY.finditer(text))
        entries = b"".join(line + b"\n" for line in found)
    else:
        entries = text
    off = sum(_OFF.search(line) is not None for line in text.split(b"\n"))
    return ",".join((checksum(_read(shim)), checksum(_read(library)), checksum(entries), str(off)))


def checksum(content: bytes | None) -> str:
    """Return POSIX `cksum` of a content and its length, as `crc-length`; `---` for a file that is not there."""
    if content is None:
        return "---"
    table = []
    for byte in range(256):
        remainder = byte << 24
        for _ in range(8):
            remainder = (remainder << 1) ^ (_POLYNOMIAL if remainder & 0x80000000 else 0)
        table.append(remainder & 0xFFFFFFFF)
    crc, length = 0, len(content)
    size = b""
    while length:
        size += bytes((length & 0xFF,))
        length >>= 8
    for byte in content + size:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ table[(crc >> 24) ^ byte]
    return f"{crc ^ 0xFFFFFFFF}-{len(content)}"


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
