"""The table of `baton`'s commands for `baton --help`, without importing them."""

from typing import NamedTuple


class Command(NamedTuple):
    """One command, or group of commands.

    `where` is `module:name` of its function or its typer app, `help` the first line of its own help (a test compares
    them), `extra` the required extra of the package.
    """

    where: str
    panel: str
    help: str
    extra: str = ""


_START = "Get started"
_SESSION = "Your session"
_JOBS = "Delegate work"
_RULES = "Policies"
_TEAM = "Team"
_SERVER = "Server"

COMMANDS: dict[str, Command] = {
    "up": Command("baton.cli.up:up", _START, "Start a server if none runs, install the hooks, and try them."),
    "down": Command("baton.cli.up:down", _START, "Remove the hooks, and stop the server of `baton up`."),
    "hooks": Command("baton.cli.hooks.command:app", _START, "Install or remove Baton's hooks in your agents' clients."),
    "doctor": Command(
        "baton.cli.doctor:doctor", _START, "Diagnose problems of this installation, and show how to fix them."
    ),
    "status": Command("baton.cli.status:status", _START, "Show the server, its dependencies, clients and runners."),
    "open": Command("baton.cli.people.open:open_", _START, "Open the console in a browser, signed in as you."),
    "relay": Command("baton.cli.hooks.relay:app", _START, "Show or stop the relay between hooks and a remote server."),
    "mode": Command("baton.cli.people.mode:app", _SESSION, "Switch the orchestrator mode on or off, and show it."),
    "freeze": Command(
        "baton.cli.people.mode:freeze", _SESSION, "Refuse all tool calls of agents at a scope, from the next call on."
    ),
    "approvals": Command(
        "baton.cli.people.approvals:approvals", _SESSION, "List the requests that wait for an answer."
    ),
    "approve": Command("baton.cli.people.approvals:approve", _SESSION, "Approve one act of an agent."),
    "deny": Command("baton.cli.people.approvals:deny", _SESSION, "Deny one act of an agent."),
    "decisions": Command(
        "baton.cli.policies.decisions:decisions",
        _SESSION,
        "List the newest decisions, follow them, or export all that match.",
    ),
    "explain": Command("baton.cli.policies.explain:explain", _SESSION, "Explain a call or a recorded decision."),
    "request": Command(
        "baton.cli.policies.exceptions:request", _SESSION, "Ask for an exception from the rule that stopped a call."
    ),
    "exceptions": Command(
        "baton.cli.policies.exceptions:app", _SESSION, "List, grant and revoke exceptions from rules."
    ),
    "report": Command("baton.cli.policies.report:report", _SESSION, "Report a decision as wrong."),
    "session": Command("baton.cli.people.session:app", _SESSION, "List agents' sessions; show, export and reset one."),
    "codemap": Command(
        "baton.cli.codemap.command:app",
        _SESSION,
        "Send your project's file and symbol names, so prompts can point to them.",
    ),
    "delegate": Command("baton.cli.jobs.delegate:delegate", _JOBS, "Delegate a task to another agent."),
    "jobs": Command(
        "baton.cli.jobs.command:app",
        _JOBS,
        "List, follow, approve, cancel and retry delegated jobs; use their changes.",
    ),
    "spawn": Command("baton.cli.jobs.spawn:spawn", _JOBS, "Check whether an agent may be started, and start it."),
    "runner": Command(
        "baton.cli.jobs.runner:app", _JOBS, "Run delegated jobs on this machine, with your own agents.", "runner"
    ),
    "mcp": Command("baton.cli.jobs.mcp:mcp", _JOBS, "Serve an agent's delegation tools over MCP.", "mcp"),
    "stats": Command("baton.cli.stats:app", _TEAM, "Show statistics: cost, delegation, latency and routing."),
    "packs": Command("baton.cli.policies.replay:packs", _RULES, "List, try, switch and report packs of rules."),
    "policy": Command("baton.cli.policies.command:app", _RULES, "Test, compare, upload and replay policies."),
    "patterns": Command("baton.cli.policies.patterns:app", _RULES, "Propose, approve and search your team's patterns."),
    "roster": Command("baton.cli.policies.roster:app", _RULES, "Push and show the agents for routing prompts."),
    "auth": Command(
        "baton.cli.people.auth:app", _TEAM, "Sign in: keep your token in the keyring, or in memory for ten minutes."
    ),
    "token": Command("baton.cli.people.token:app", _TEAM, "Create, list and revoke access tokens."),
    "user": Command("baton.cli.people.user:app", _TEAM, "Manage users, and export or delete their data."),
    "team": Command("baton.cli.people.team:app", _TEAM, "List, add and configure teams."),
    "audit": Command(
        "baton.cli.people.open:audit", _TEAM, "List changes with author and reason, or export all that match."
    ),
    "demo": Command(
        "baton.cli.demo.command:demo",
        _SERVER,
        "Fill a fresh server with a demonstration team, so every screen of the console has content.",
    ),
    "serve": Command("baton.serve.command:serve", _SERVER, "Run the server until Ctrl-C.", "server"),
    "db": Command("baton.serve.db:app", _SERVER, "Check and migrate the database, and recover admin access.", "server"),
}
EXTRAS = {"server": "fastapi", "runner": "acp", "mcp": "mcp"}
"""The extras of the package, each with a module that only it installs."""
