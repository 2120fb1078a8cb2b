"""The `runner.yaml` that `baton runner init` writes: commented, and with the installed agents switched on."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from baton.shared.providers import ACP_AGENTS, PROVIDERS

_HEAD = """\
# What `baton runner run` may do on this machine. A job names a provider, a workspace and a prompt; the commands and
# folders are only here. Agents run with your own login and your own rights.

# name: laptop              # how people see this machine; its host name without it
slots: 2                    # jobs at once
confirm: by-rules           # always: only you allow what an agent asks for; by-rules: a rule of the policies may, too
env_pass: []                # more of your environment that agents get: [AWS_PROFILE, "NPM_*"]; see docs/delegation.md
share: false                # true: jobs of your team run here too, with your login and your files
notices: true               # tell you on the desktop, or by the terminal's bell, that a job asks for leave or has ended
drain_s: 300                # after SIGTERM: how long running jobs may take to end
cancel_grace_s: 5           # how long an agent may take to heed a cancel before it is killed
# Worktrees (isolation `worktree`): how many of ended jobs are kept, and whether uncommitted changes are copied into a new one
# (snapshot), left out (leave), or keep the job from running (refuse).
worktrees: {keep: 5, days: 7, uncommitted: snapshot}

# Workspaces: the alias that a job names, and the folder in which the agent starts. A worktree of it can be prepared:
#   shop: {folder: ~/shop, copy: [.env, "config/*.local"], setup: npm ci, setup_timeout_s: 600}
# copy: files that git ignores and the work needs; setup: a shell line that is run in the worktree before the agent starts.
workspaces:
"""
_PROVIDERS = """
# Providers. `driver: acp` speaks the Agent Client Protocol on standard input and output; `driver: claude-print` runs
# `claude -p`, which cannot ask you anything: what it would ask is refused.
#   mode                  the agent's own mode; it decides what the agent asks for, and its sandbox
#   models                the models that a job may name; [] for any
#   max_timeout_s         longest run; max_thinking_tokens: largest thinking budget
#   env                   more environment for the agent; env_pass: names or globs of yours that it gets, as above
providers:
"""
_MODES = {"codex": "workspace-write", "claude_code": "default"}


def written(env: Mapping[str, str], project: Path) -> str:
    """Return the file's text for this machine, with the current project as its first workspace."""
    alias = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name).strip("-._")[:64] or "project"
    text = f"{_HEAD}  {alias}: {json.dumps(str(project))}\n{_PROVIDERS}"
    path = env.get("PATH")
    for name, agent in ACP_AGENTS.items():
        installed = shutil.which(agent.command[0], path=path) is not None
        if name not in PROVIDERS and not installed:
            continue
        mode = [f"  mode: {_MODES[name]}"] if name in _MODES else []
        text += "" if installed else f"  # not installed here: {agent.install}\n"
        text += _block((f"{name}:", f"  command: [{', '.join(agent.command)}]", *mode), active=installed)
    others = ", ".join(name for name in ACP_AGENTS if name not in PROVIDERS)
    text += f"  # Known by name, so that `goose:` alone is enough: {others}.\n"
    text += "  # Any other agent that speaks ACP: a name of your own and its command.\n"
    adapter, plain = (shutil.which(name, path=path) for name in ("claude-agent-acp", "claude"))
    lines = ("claude_code:", "  driver: claude-print", "  command: [claude]", "  mode: acceptEdits")
    return f"{text}  # Claude Code without its adapter:\n{_block(lines, active=bool(plain and not adapter))}"


def _block(lines: tuple[str, ...], *, active: bool) -> str:
    return "".join(f"{'  ' if active else '  # '}{line}\n" for line in lines)
