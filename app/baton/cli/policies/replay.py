"""`baton policy replay` and `hits`: what other policies would have decided, and how often each rule matched."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Since, UsageError
from baton.cli.output import show_json, show_table
from baton.local.server import Api, ApiError
from baton.shared import policy_folders


def replay(
    since: Since = "7d",
    candidate: Annotated[Path | None, typer.Option("--candidate", help="A folder of policies.")] = None,
    tier: Annotated[
        Literal["organisation", "team", "project", "user"], typer.Option("--tier", help="Whom they are for.")
    ] = "organisation",
    name: Annotated[str, typer.Option("--name", help="The team, project or user. Default: your own.")] = "",
    version: Annotated[int | None, typer.Option("--version", min=1, help="A stored version of that layer.")] = None,
    revision: Annotated[str, typer.Option("--revision", help="A revision that was active.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Replay at most this many calls.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Replay past decisions against other policies: what would change, by rule and by user."""
    if sum((candidate is not None, version is not None, revision != "")) != 1:
        raise UsageError("give one of --candidate DIR, --version N, --revision ID")
    if candidate is not None and not candidate.is_dir():
        raise UsageError(f"`{candidate}` is not a folder")
    body: dict[str, Any] = {"since": since, "tier": tier, "name": name, "limit": limit}
    body |= {"files": policy_folders.read(candidate)} if candidate is not None else {}
    body |= {"version": version} if version is not None else {}
    body |= {"revision": revision} if revision else {}
    summary = _run(body)
    if as_json:
        show_json(summary)
    else:
        _show(summary)


def hits(since: Since = "7d", as_json: AsJson = False) -> None:
    """Show how often each rule matched, which never did, and which are reported most."""
    counts = Api(administer=True).request("GET", "/policies/rules", query={"since": since})
    if as_json:
        show_json(counts)
        return
    rows = [
        (
            one["rule"],
            ", ".join(f"{count} {effect}" for effect, count in one["hits"].items()),
            one["users"],
            one["last_hit"][:16],
            one["reports"] or "",
        )
        for one in counts
        if not one["never_fired"]
    ]
    show_table(("rule", "hits", "users", "last", "reported"), rows, none="No rule matched.")
    never = [one["rule"] for one in counts if one["never_fired"] and one["enabled"]]
    if never:
        print(f"never since {since[:16]}: {', '.join(never)}")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (replay, hits):
        app.command()(command)


def _run(body: dict[str, Any]) -> dict[str, Any]:
    """Run a replay with a bar of its progress, on a terminal, and return its summary."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    )
    with progress:
        task = progress.add_task("replaying", total=None)
        for line in Api(administer=True).lines("/policies/replay", body):
            if "summary" in line:
                summary: dict[str, Any] = line["summary"]
                return summary
            if "problem" in line:
                raise ApiError(line["problem"]["detail"])
            if done := line.get("progress"):  # lines of calls that change come between
                progress.update(task, completed=done["read"], total=done["total"])
    raise ApiError("the replay broke off; try again")


def _show(summary: dict[str, Any]) -> None:
    present, candidate = summary["present_revision"], summary["candidate_revision"]
    print(f"revision {present} → {candidate}" if present != candidate else f"revision {present} below another layer")
    print(f"{summary['read']} calls read, {summary['replayed']} replayed, {summary['changed']} would change")
    for change in summary["changes"]:
        who = ", ".join(f"{user} ({count})" for user, count in change["users"].items())
        print(f"  {change['count']:>5} times {change['before']} → {change['after']}: {who}")
        print(f"          such as {', '.join(change['examples'][:2])}")
    for why, count in summary["not_replayed"].items():
        print(f"  {count:>5} could not be replayed: {why}")
    if summary["by_tool_alone"]:
        print(f"  {summary['by_tool_alone']:>5} were replayed by their tool's name alone, as no input was stored")
    if summary["truncated"]:
        print("there are more calls; replay them with a higher --limit")
