"""Collects facts once per session: open work items, and checksums of the installed files."""

import re
import subprocess
from collections.abc import Mapping

from baton.local.hook.start_environment import has_prompt

COUNT_S = 5
"""Seconds that the command which counts work items may take; the client gives the whole hook 10."""
_ENTRY = re.compile(rb"baton(?:-hook\.sh|(?:\.exe)?[\\\"']* hook)[\\\"']* [a-z-]+ [A-Za-z]+[^|;\"\n]*")
_OFF = re.compile(rb'"disableAllHooks"\s*:\s*true|"hooksConfig"')
_POLYNOMIAL = 0x04C11DB7
_PLUGINS = frozenset({"opencode"})
"""Clients whose hooks are a program: all of it counts, not its entries."""


def count_work_items(command: str, root: str) -> str:
    """Return the number of open work items as text, "" if it is unknown."""
    if not command:
        return ""
    null = subprocess.DEVNULL
    try:  # it is the person's own command, from the config file alone
        ran = subprocess.run(  # noqa: S602
            command, shell=True, cwd=root, stdin=null, stdout=subprocess.PIPE, timeout=COUNT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(rb"[0-9]+$", ran.stdout.rstrip(b"\r\n"))
    return found[0].decode() if found and ran.returncode == 0 else ""


def models(client: str, env: Mapping[str, str]) -> str:
    """Return the client's models from the environment, like `report_models` in `hooks/baton-lib.sh`."""
    words: list[str] = []
    url, model = env.get("ANTHROPIC_BASE_URL", ""), env.get("ANTHROPIC_MODEL", "")
    if client == "copilot-cli":
        url = env.get("COPILOT_PROVIDER_BASE_URL", "")
        model = env.get("COPILOT_MODEL", "") if url else ""
    else:
        words += [
            one for one in ("haiku", "sonnet", "opus", "fable") if env.get(f"ANTHROPIC_DEFAULT_{one.upper()}_MODEL")
        ]
        clouds = "/".join(env.get(f"CLAUDE_CODE_USE_{one}", "") for one in ("BEDROCK", "VERTEX", "FOUNDRY"))
        words += ["cloud"] if any(yes in clouds for yes in ("1", "true", "yes", "on")) else []
    said = env.get("CLAUDE_CODE_SESSION_ATTENDED") == "0" and client == "claude-code"
    if said or (client in {"copilot-cli", "qwen"} and has_prompt()):
        words.append("headless")
    if url and not f"{url}/".startswith("https://api.anthropic.com/"):
        words.append("gateway")
    return " ".join([*words, f"model={model}"] if model else words)


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
    """Return POSIX `cksum` of a content and its length, as `crc-length`; `---` for a missing file."""
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
