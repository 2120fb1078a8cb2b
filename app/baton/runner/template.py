"""The commented `runner.yaml` of `baton runner init`, with the installed agents enabled."""

import json
import os
import re
import shutil
import socket
import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from baton.shared.providers import ACP_AGENTS, PROVIDERS

_HEAD = """\
# Configuration of `baton runner run` on this machine. A job names a provider, a workspace and a prompt; commands and
# folders are only here. Agents run with your own login and permissions.

# name: laptop              # display name of this machine; default: its host name
slots: 2                    # jobs at once
confirm: by-rules           # always: only you can allow an agent's request; by-rules: a policy rule can too
env_pass: []                # more of your environment for agents: [AWS_PROFILE, "NPM_*"]; see docs/delegation.md
share: false                # true: jobs of your team run here too, with your login and your files
notices: true               # notify on the desktop, or by the terminal's bell, when a job asks for permission or ends
drain_s: 300                # time for running jobs to end after SIGTERM, in seconds
cancel_grace_s: 5           # time for a cancelled agent to stop before it is killed, in seconds
# Worktrees (isolation `worktree`) kept of ended jobs, and uncommitted changes: copied into a new one (snapshot), omitted
# (leave), or an error (refuse).
worktrees: {keep: 5, days: 7, uncommitted: snapshot}

# Workspaces: a job's alias, and the agent's folder. A worktree of it can be prepared:
#   shop: {folder: ~/shop, copy: [.env, "config/*.local"], setup: npm ci, setup_timeout_s: 600}
# copy: required files ignored by git; setup: a shell line to run in the worktree before the agent starts.
workspaces:
"""
_PROVIDERS = """
# Providers. `driver: acp` speaks the Agent Client Protocol on standard input and output. `driver: claude-print` runs
# `claude -p`, `driver: codex-server` runs `codex app-server`: they need no adapter and start in half of its time.
#   mode                  the agent's own mode, for its requests and its sandbox
#   models                the models allowed for jobs; [] for any
#   max_timeout_s         maximum run time; max_thinking_tokens: maximum thinking budget
#   env                   more environment for the agent; env_pass: names or globs of yours, as above
providers:
"""
_PLAIN = {"claude_code": ("claude-print", "claude"), "codex": ("codex-server", "codex", "app-server")}
"""Drivers without an adapter, and their commands."""
_MODES = {"codex": "workspace-write", "claude_code": "default"}


def written(env: Mapping[str, str], project: Path) -> str:
    """Return the file's content for this machine, with the current project as its first workspace."""
    alias = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name).strip("-._")[:64] or "project"
    text = f"{_HEAD}  {alias}: {json.dumps(str(project))}\n{_PROVIDERS}"
    path = env.get("PATH")
    for name, agent in ACP_AGENTS.items():
        driver, *plain = _PLAIN.get(name, ("",))
        own = bool(plain) and shutil.which(plain[0], path=path)
        installed = bool(own or shutil.which(agent.command[0], path=path))
        if name not in PROVIDERS and not installed:
            continue
        how = [f"  driver: {driver}"] if own else []
        how += [f"  command: [{', '.join(plain if own else agent.command)}]"]
        mode = [f"  mode: {_MODES[name]}"] if name in _MODES else []
        text += "" if installed else f"  # not installed here: {agent.install}\n"
        text += _block((f"{name}:", *how, *mode), active=installed)
    others = ", ".join(name for name in ACP_AGENTS if name not in PROVIDERS)
    return (
        f"{text}  # Known by name, so `goose:` alone is enough: {others}.\n"
        "  # Any other ACP agent: a name of your choice and its command.\n"
    )


def _block(lines: tuple[str, ...], *, active: bool) -> str:
    return "".join(f"{'  ' if active else '  # '}{line}\n" for line in lines)


# Folder names for the server, to distinguish folders without revealing their paths.
#
# A name is a chain of digests, one per folder from the root down. All runners of a machine name a folder alike,
# whatever link or spelling leads there, and a folder's name is a prefix of its subfolders' names.

DEEPEST = 64  # maximum number of digests, as on the server. Deeper folders have their ancestor's name.
_MACHINE_ID = Path("/etc/machine-id")
_DIGITS = 12


def names(folders: Iterable[tuple[str, Path | None]]) -> dict[str, str]:
    """Return the folder names of workspaces by alias. Missing folders are omitted."""
    machine = _machine()
    found = {alias: _name(machine, folder) for alias, folder in folders if folder is not None}
    return {alias: name for alias, name in found.items() if name}


def _name(machine: str, folder: Path) -> str:
    try:
        resolved = folder.resolve(strict=True)
        chain = [(path.stat(), path.name) for path in (*reversed(resolved.parents), resolved)]
    except OSError:
        return ""
    # Inodes distinguish `A` from `a`; names distinguish a folder from a deleted one with a reused inode.
    # Case-insensitive file systems have several spellings for one folder, so names are compared without case.
    texts = (
        f"{machine} {node.st_dev} {node.st_ino} {unicodedata.normalize('NFKC', name.casefold())}"
        for node, name in chain[:DEEPEST]
    )
    return "".join(f"{sha256(os.fsencode(text)).hexdigest()[:_DIGITS]}/" for text in texts)


def _machine() -> str:
    try:
        return _MACHINE_ID.read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()
