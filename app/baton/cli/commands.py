"""The table of `baton`'s commands: what `baton --help` needs, so that it imports none of them."""

from typing import NamedTuple


class Command(NamedTuple):
    """One command, or group of commands.

    `where` is `module:name` of its function or its typer app, `help` the first line of its own help (a test compares
    them), `extra` what must be installed beside the command line.
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
    "hooks": Command(
        "baton.cli.hooks.command:app",
        _START,
        "Install or remove Baton's hooks in a client: Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code, opencode, Cursor, Continue.",
    ),
    "doctor": Command("baton.cli.doctor:doctor", _START, "Find what keeps Baton from working here, and how to fix it."),
    "status": Command("baton.cli.status:status", _START, "Show the server, its dependencies, clients and runners."),
    "open": Command("baton.cli.people.open:open_", _START, "Open the console in a browser, signed in as you."),
    "mode": Command("baton.cli.people.mode:app", _SESSION, "Switch the orchestrator mode on or off, and show it."),
    "decisions": Command(
        "baton.cli.policies.decisions:decisions", _SESSION, "List the newest decisions, or follow them."
    ),
    "explain": Command(
        "baton.cli.policies.explain:explain", _SESSION, "Explain a recorded decision, or a payload from standard input."
    ),
    "report": Command("baton.cli.policies.report:report", _SESSION, "Report a decision as wrong."),
    "session": Command("baton.cli.people.session:app", _SESSION, "List agents' sessions; show, export and reset one."),
    "codemap": Command(
        "baton.cli.codemap.command:app",
        _SESSION,
        "Send which files and symbols your project has, so that prompts can be told where things are.",
    ),
    "context": Command(
        "baton.cli.people.context:app",
        _TEAM,
        "Show what is put into prompts and what of it is used; switch parts of it off.",
    ),
    "delegate": Command("baton.cli.jobs.delegate:delegate", _JOBS, "Delegate a task to another agent."),
    "jobs": Command(
        "baton.cli.jobs.command:app",
        _JOBS,
        "List, follow, approve, cancel and retry delegated jobs; use what they changed.",
    ),
    "spawn": Command("baton.cli.jobs.spawn:spawn", _JOBS, "Check whether an agent may be started, and start it."),
    "graph": Command("baton.cli.jobs.graph:app", _JOBS, "Run tasks that depend on each other, wave by wave."),
    "runner": Command(
        "baton.cli.jobs.runner:app", _JOBS, "Run delegated jobs on this machine, with your own agents.", "runner"
    ),
    "mcp": Command("baton.cli.jobs.mcp:mcp", _JOBS, "Serve an agent's delegation tools over MCP.", "mcp"),
    "model-agent": Command(
        "baton.cli.jobs.model_agent:model_agent", _JOBS, "Serve an OpenAI-compatible model as an agent.", "runner"
    ),
    "delegation": Command("baton.cli.jobs.delegation_share:delegation", _JOBS, "Show how much work agents delegate."),
    "cost": Command(
        "baton.cli.jobs.cost:cost", _JOBS, "Show what agents cost, by person, team, project, agent, model or day."
    ),
    "latency": Command(
        "baton.cli.policies.latency:latency",
        _SERVER,
        "Show how long decisions take, and which calls ran or were blocked without one.",
    ),
    "routing": Command("baton.cli.policies.routing:routing", _RULES, "Show how well prompts are routed, by day."),
    "policy": Command("baton.cli.policies.command:app", _RULES, "Test, compare, upload and replay policies."),
    "override": Command("baton.cli.policies.override:app", _RULES, "Lift a rule for one session, for a while."),
    "reports": Command("baton.cli.policies.report:reports", _RULES, "List and answer reports of wrong decisions."),
    "patterns": Command(
        "baton.cli.policies.patterns:app", _RULES, "Propose, approve and search what your team has learned."
    ),
    "agents": Command(
        "baton.cli.policies.agents:agents",
        _SESSION,
        "List the agents of your clients, as their sessions told at their start.",
    ),
    "roster": Command("baton.cli.policies.roster:app", _RULES, "Push and show the agents that prompts are routed to."),
    "login": Command(
        "baton.cli.people.login:login",
        _TEAM,
        "Keep your token in this machine's keyring, for commands that a person types.",
    ),
    "logout": Command(
        "baton.cli.people.login:logout", _TEAM, "Take your token out of the keyring, and end what `baton unlock` holds."
    ),
    "unlock": Command(
        "baton.cli.people.login:unlock", _TEAM, "Hold your token in memory for ten minutes, for this terminal."
    ),
    "lock": Command("baton.cli.people.login:lock", _TEAM, "End what `baton unlock` holds."),
    "token": Command("baton.cli.people.token:app", _TEAM, "Create, list and revoke access tokens."),
    "user": Command("baton.cli.people.user:app", _TEAM, "Manage users, and export or delete their data."),
    "team": Command("baton.cli.people.team:app", _TEAM, "List, add and configure teams."),
    "project": Command("baton.cli.people.project:app", _TEAM, "List and set which team owns which project."),
    "audit": Command("baton.cli.people.audit:audit", _TEAM, "List who changed what, and why."),
    "demo": Command(
        "baton.cli.demo.command:demo",
        _SERVER,
        "Fill a fresh server with a demonstration team, so that every screen of the console shows something.",
    ),
    "serve": Command("baton.serve.command:serve", _SERVER, "Run the server until Ctrl-C.", "server"),
    "db": Command("baton.serve.db:app", _SERVER, "Check and migrate the database, and recover admin access.", "server"),
}
EXTRAS = {"server": "fastapi", "runner": "acp", "mcp": "mcp"}
"""The extras of the package, each with a module that only it installs."""
