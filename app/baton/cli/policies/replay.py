"""`baton policy replay` and `hits`, and `baton packs`: past calls under other policies, and counts of rule hits."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, Since, UsageError, path_of
from baton.cli.output import end_with_json, plain, show_json, show_table, show_wrapped
from baton.local.server import Api, ApiError
from baton.shared import policy_folders


def replay(
    since: Since = "7d",
    candidate: Annotated[Path | None, typer.Option("--candidate", help="A folder of policies.")] = None,
    tier: Annotated[
        Literal["organisation", "team", "project", "user"], typer.Option("--tier", help="Owner of the layer.")
    ] = "organisation",
    name: Annotated[str, typer.Option("--name", help="The team, project or user. Default: your own.")] = "",
    version: Annotated[int | None, typer.Option("--version", min=1, help="A stored version of this layer.")] = None,
    revision: Annotated[str, typer.Option("--revision", help="A formerly active revision.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Replay at most this many calls.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Replay past decisions against other policies. Show the changes by rule and by user."""
    if sum((candidate is not None, version is not None, revision != "")) != 1:
        raise UsageError("give one of --candidate DIR, --version N, --revision ID")
    if candidate is not None and not candidate.is_dir():
        raise UsageError(f"`{candidate}` is not a folder")
    body: dict[str, Any] = {"since": since, "tier": tier, "name": name, "limit": limit}
    body |= {"files": policy_folders.read(candidate)} if candidate is not None else {}
    body |= {"version": version} if version is not None else {}
    body |= {"revision": revision} if revision else {}
    summary, _ = _run(body)
    if as_json:
        show_json(summary)
    else:
        _show(summary)


def hits(since: Since = "7d", as_json: AsJson = False) -> None:
    """Show each rule's hits, the unused rules, and the most reported ones."""
    counts = Api(administer=True).request("GET", "/policies/rules", query={"since": since})
    end_with_json(counts, when=as_json)
    rows = [
        (one["rule"], _effects(one["hits"]), one["users"], one["last_hit"][:16], one["reports"] or "")
        for one in counts
        if not one["never_fired"]
    ]
    show_table(("rule", "hits", "users", "last", "reported"), rows, none="No rule matched.")
    never = [one["rule"] for one in counts if one["never_fired"] and one["enabled"]]
    if never:
        show_wrapped(f"never since {since[:16]}: {', '.join(never)}")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (replay, hits):
        app.command()(command)


packs = group("List, try, switch and report packs of rules.")

PackName = Annotated[str, typer.Argument(metavar="PACK", help="A pack that `baton packs` lists.")]
PackTier = Annotated[
    Literal["organisation", "team", "project", "user"] | None,
    typer.Option("--tier", help="Owner of the layer. Default: the widest that you may change."),
]
PackLayer = Annotated[str, typer.Option("--name", help="The team, project or user. Default: your own.")]


@packs.callback(invoke_without_command=True, no_args_is_help=False)
def packs_(context: typer.Context, since: Since = "7d", as_json: AsJson = False) -> None:
    """List, try, switch and report packs of rules.

    Without a command it lists them with their state and hits.
    """
    if context.invoked_subcommand is None:
        list_packs(since=since, as_json=as_json)


@packs.command("list")
def list_packs(since: Since = "7d", as_json: AsJson = False) -> None:
    """List the packs with their state for you, and their hits."""
    found = Api(administer=True).request("GET", "/policies/packs", query={"since": since})
    end_with_json(found, when=as_json)
    rows = [(one["name"], one["state"], _rate(one), "NOISY" if one["noisy"] else "", one["title"]) for one in found]
    show_table(("pack", "state", "stopped", "", "about"), rows, none="No packs.")


@packs.command("try")
def try_pack(
    pack: PackName,
    since: Since = "7d",
    tier: PackTier = None,
    name: PackLayer = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Replay at most this many calls.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Replay past calls with a pack on, and list the calls it would have stopped."""
    body = {"pack": pack, "since": since, "name": name, "limit": limit} | ({"tier": tier} if tier else {})
    summary, calls = _run(body)
    end_with_json(summary | {"calls": calls}, when=as_json)
    asked, refused = (
        sum(one["count"] for one in summary["changes"] if one["after"].startswith(effect)) for effect in ("ask", "deny")
    )
    print(f"{pack} would have asked about {asked} and refused {refused} of {summary['replayed']} calls.")
    rows = [(one["at"][:16], one["user"], one["after"], one["call"] or one["tool"]) for one in calls]
    if rows:
        show_table(("at", "user", "would", "call"), rows, none="")
    if summary["truncated"]:
        print("There are more calls; replay them with a higher --limit.")
    print(f"Watch it without stopping anything: baton packs enable {pack} --shadow")


@packs.command()
def enable(
    pack: PackName,
    shadow: Annotated[bool, typer.Option("--shadow", help="Record matches, and stop nothing.")] = False,
    tier: PackTier = None,
    name: PackLayer = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Switch a pack on, or into shadow, in a layer."""
    _switch(pack, "shadow" if shadow else "on", tier, name, reason, as_json=as_json)


@packs.command()
def disable(
    pack: PackName, tier: PackTier = None, name: PackLayer = "", reason: Reason = "", as_json: AsJson = False
) -> None:
    """Switch a pack off in a layer."""
    _switch(pack, "off", tier, name, reason, as_json=as_json)


@packs.command("report")
def report_pack(
    pack: PackName,
    since: Since = "7d",
    exception: Annotated[int, typer.Option(min=0, help="Print the rule's file with this exception.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show a pack's stopped calls, its noisiest shapes, and an exception for each."""
    found = Api(administer=True).request("GET", path_of("policies", "packs", pack), query={"since": since})
    shapes = [one for one in found["shapes"] if one["text"] or not exception]
    if as_json:
        show_json(found)
    elif exception > len(shapes):
        raise UsageError(f"there are {len(shapes)} exceptions; run `baton packs report {pack}`")
    elif exception:
        print("\n".join(map(plain, shapes[exception - 1]["text"].splitlines())))
    else:
        noisy = f"NOISY: it promises {found['promise']} %" if found["noisy"] else f"promised: {found['promise']} %"
        print(f"{pack} ({found['state']}) stopped {_rate(found)}; {noisy}")
        rows = [(one["id"], one["state"], _effects(one["hits"]) or "-") for one in found["rules"]]
        show_table(("rule", "state", "hits"), rows, none="")
        for number, one in enumerate(shapes, 1):
            print(plain(f"\n{one['count']} times `{one['shape']}` by {one['rule']}, such as: {one['call']}"))
            show_change(one, f"baton packs report {pack} --exception {number}")


def show_change(one: dict[str, Any], command: str) -> None:
    """Print the exception for a shape, and the command that prints the rule's file with it."""
    if one["text"]:
        print(f"  an exception lets {one['cures']} of {one['count']} through; under `unless:` of {one['path']}:")
        print("\n".join(plain(f"    {line}") for line in one["exception"].splitlines()))
        print(f"  its file, for your layer: {command}")


def _switch(pack: str, state: str, tier: str | None, name: str, reason: str, *, as_json: bool) -> None:
    query = {"tier": tier or "", "name": name}
    body = {"state": state, "reason": reason}
    one = Api(administer=True).request("PUT", path_of("policies", "packs", pack), query=query, body=body)
    end_with_json(one, when=as_json)
    where = "; ".join(f"{layer['tier']} {layer['name']}: {layer['state']}" for layer in one["layers"])
    print(plain(f"{pack} is {one['state']}" + (f" ({where})" if where else "") + "."))


def _rate(one: dict[str, Any]) -> str:
    return f"{one['stopped']} of {one['calls']} calls ({one['rate']} %)"


def _effects(hits: dict[str, int]) -> str:
    return ", ".join(f"{count} {effect}" for effect, count in hits.items())


def _run(body: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run a replay with a progress bar on a terminal. Return its summary and the changed calls."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    )
    with progress:
        calls: list[dict[str, Any]] = []
        task = progress.add_task("replaying", total=None)
        for line in Api(administer=True).lines("/policies/replay", body):
            if "summary" in line:
                return line["summary"], calls
            if "problem" in line:
                raise ApiError(line["problem"]["detail"])
            calls += line.get("calls", [])
            if done := line.get("progress"):
                progress.update(task, completed=done["read"], total=done["total"])
    raise ApiError("the replay broke off; try again")


def _show(summary: dict[str, Any]) -> None:
    present, candidate = summary["present_revision"], summary["candidate_revision"]
    print(f"revision {present} → {candidate}" if present != candidate else f"revision {present} below another layer")
    print(f"{summary['read']} calls read, {summary['replayed']} replayed, {summary['changed']} would change")
    for change in summary["changes"]:
        who = ", ".join(f"{user} ({count})" for user, count in change["users"].items())
        before, after = (change[name].replace("abstain", "no rule") for name in ("before", "after"))
        print(plain(f"  {change['count']:>5} times {before} → {after}: {who}"))
        print(plain(f"          such as {', '.join(change['examples'][:2])}"))
    for why, count in summary["not_replayed"].items():
        print(plain(f"  {count:>5} could not be replayed: {why}"))
    if summary["by_tool_alone"]:
        print(f"  {summary['by_tool_alone']:>5} were replayed by their tool's name alone, as no input was stored")
    if summary["truncated"]:
        print("there are more calls; replay them with a higher --limit")
