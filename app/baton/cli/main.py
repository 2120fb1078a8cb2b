"""`baton`: the command line. Each command is a file beside this one; this one only puts them together."""

import io
import sys
from importlib import import_module

import typer

from baton.cli import doctor, status
from baton.cli.hooks import command as hooks
from baton.cli.jobs import command as jobs
from baton.cli.jobs import delegate, delegation_share, graph, mcp, model_agent, runner, spawn
from baton.cli.people import audit, mode, session, team, token, user
from baton.cli.people import project as projects
from baton.cli.policies import command as policy
from baton.cli.policies import decisions, explain, override, report, roster
from baton.local.server import ApiError

app = typer.Typer(
    name="baton",
    help="One server that a team shares, and that every coding agent asks before it acts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_serve = import_module("baton.serve.command")  # by name: the command line knows nothing of the server
app.command("serve")(_serve.serve)
app.add_typer(mode.app, name="mode")
app.add_typer(token.app, name="token")
app.add_typer(user.app, name="user")
app.add_typer(team.app, name="team")
app.add_typer(projects.app, name="project")
app.add_typer(hooks.app, name="hooks")
app.add_typer(policy.app, name="policy")
app.command("explain")(explain.explain)
app.command("decisions")(decisions.decisions)
app.command("status")(status.status)
app.command("doctor")(doctor.doctor)
app.add_typer(import_module("baton.serve.db").app, name="db")
app.command("audit")(audit.audit)
app.command("delegate")(delegate.delegate)
app.add_typer(jobs.app, name="jobs")
app.command("spawn")(spawn.spawn)
app.add_typer(graph.app, name="graph")
app.command("mcp")(mcp.mcp)
app.command("model-agent")(model_agent.model_agent)
app.command("delegation")(delegation_share.delegation)
app.add_typer(override.app, name="override")
app.command("report")(report.report)
app.add_typer(report.reports, name="reports")
app.add_typer(session.app, name="session")
app.add_typer(roster.app, name="roster")
app.add_typer(runner.app, name="runner")


def main() -> None:
    """Run the command line; what went wrong is told in one line, with 1 as the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no `✓` shows something else
    try:
        app()
    except ApiError as error:
        print(f"baton: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
