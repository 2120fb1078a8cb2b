"""`baton policy replay` and `hits`: what other policies would have decided, and how often rules spoke. It changes nothing."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from baton.cli.output import show_json
from baton.local.server import Api, ApiError
from baton.shared import policy_folders

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"([0-9]{1,5})([mhdw])")
Since = Annotated[str, typer.Option("--since", help="How far back: 30m, 12h, 7d, 4w, or a moment such as 2026-05-01.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


def replay(
    since: Since = "7d",
    candidate: Annotated[Path | None, typer.Option("--candidate", help="A folder of policies.")] = None,
    tier: Annotated[
        Literal["organisation", "team", "project", "user"], typer.Option("--tier", help="Whom they are for.")
    ] = "organisation",
    name: Annotated[str, typer.Option("--name", help="The team, project or user; your own without it.")] = "",
    version: Annotated[int | None, typer.Option("--version", min=1, help="A stored version of that layer.")] = None,
    revision: Annotated[str, typer.Option("--revision", help="A revision that was active.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most calls to replay.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Replay past decisions against other policies: what would change, by rule and by user."""
    if sum((candidate is not None, version is not None, revision != "")) != 1:
        raise _unusable("give one of --candidate DIR, --version N, --revision ID")
    if candidate is not None and not candidate.is_dir():
        raise _unusable(f"`{candidate}` is no folder")
    body: dict[str, Any] = {"since": _moment(since), "tier": tier, "name": name, "limit": limit}
    body |= {"files": policy_folders.read(candidate)} if candidate is not None else {}
    body |= {"version": version} if version is not None else {}
    body |= {"revision": revision} if revision else {}
    summary = _follow(body)
    if as_json:
        show_json(summary)
    else:
        _tell(summary)


def hits(since: Since = "7d", as_json: AsJson = False) -> None:
    """Show how often each rule spoke, which never did, and which are reported most."""
    counts = Api(administer=True).request("GET", "/policies/rules", query={"since": _moment(since)})
    if as_json:
        show_json(counts)
        return
    for one in counts:
        if not one["never_fired"]:
            by = ", ".join(f"{count} {effect}" for effect, count in one["hits"].items())
            reports = f"; {one['reports']} reported" if one["reports"] else ""
            print(f"{one['rule']:<40} {by}; {one['users']} users; last {one['last_hit'][:16]}{reports}")
    never = [one["rule"] for one in counts if one["never_fired"] and one["enabled"]]
    if never:
        print(f"never since {since}: {', '.join(never)}")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (replay, hits):
        app.command()(command)


def _follow(body: dict[str, Any]) -> dict[str, Any]:
    shown = Progress(
        TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    )
    with shown:
        task = shown.add_task("replaying", total=None)
        for line in Api(administer=True).lines("/policies/replay", body):
            if "summary" in line:
                found: dict[str, Any] = line["summary"]
                return found
            if "problem" in line:
                raise ApiError(line["problem"]["detail"])
            shown.update(task, completed=line["progress"]["read"], total=line["progress"]["total"])
    raise ApiError("the replay broke off; try again")


def _tell(summary: dict[str, Any]) -> None:
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
        print(f"  {summary['by_tool_alone']:>5} were replayed by their tool's name alone: no input was kept")
    if summary["truncated"]:
        print("there are more calls; take them with a higher --limit")


def _moment(since: str) -> str:
    ago = _AGO.fullmatch(since)
    try:
        if ago:
            return (datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).isoformat()
        moment = datetime.fromisoformat(since)
    except (ValueError, OverflowError):
        raise _unusable(f"`{since}` is no time; allowed: 30m, 12h, 7d, 4w, or a moment such as 2026-05-01") from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat()


def _unusable(text: str) -> typer.Exit:
    print(f"baton policy: {text}", file=sys.stderr)
    return typer.Exit(2)
