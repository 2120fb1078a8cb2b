"""`baton stats`: cost and delegation of agents, latency of decisions, and routing quality."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Everybody, Since
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api

app = group("Show statistics: cost, delegation, latency and routing.")

_COST_COLUMNS = ("calls", "jobs", "input", "cached", "output", "usd", "no price")


@app.command()
def cost(
    by: Annotated[
        Literal["user", "team", "project", "agent", "model", "day"], typer.Option(help="What a row is.")
    ] = "day",
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """Show the cost of agents, by person, team, project, agent, model or day.

    It sums up the clients' reports on agents started by sessions, and the cost of delegated tasks.
    """
    query = {"by": by, "since": since, "user": user}
    found = Api(administer=everybody).request("GET", "/analytics/cost", query=query)
    end_with_json(found, when=as_json)
    show_table(
        (by, *_COST_COLUMNS), map(_cost_row, found["items"]), none="No agent call reported tokens, and no job ran."
    )


def _cost_row(one: dict[str, Any]) -> tuple[str, ...]:
    names = ("agent_calls", "jobs", "input_tokens", "cached_tokens", "output_tokens")
    return (one["group"], *(str(one[name]) for name in names), f"{one['usd']:.2f}", str(one["unpriced_tokens"]))


_DELEGATION_COLUMNS = ("calls", "delegated", "direct", "share", "refused", "asked", "advised", "lifted", "cheaper")


@app.command()
def delegation(
    by: Annotated[Literal["session", "user", "team", "day"], typer.Option(help="What a row is.")] = "day",
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's calls.")] = "",
    parent: Annotated[
        Literal["haiku", "sonnet", "opus", "fable"], typer.Option(help="The model that callers run on.")
    ] = "opus",
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """Show agents' share of delegated work.

    It also counts the agent calls moved to a cheaper model.
    """
    query = {"by": by, "parent": parent, "since": since, "user": user, "limit": "200"}
    answer = Api(administer=everybody).request("GET", "/analytics/delegation", query=query)
    end_with_json(answer, when=as_json)
    show_table((by, *_DELEGATION_COLUMNS), [_delegation_row(by, one) for one in answer["items"]], none="No calls.")


def _delegation_row(by: str, one: dict[str, Any]) -> tuple[str, ...]:
    name = f"{one.get('session_id', '-')} ({one['user']})" if by == "session" else one.get(by, "-")
    share = f"{one['share_delegated']:.0%}"
    before = (str(one[key]) for key in ("calls", "delegated", "direct"))
    after = (str(one[key]) for key in ("blocked", "asked", "guided", "overridden", "cheaper"))
    return (name, *before, share, *after)


_LATENCY_COLUMNS = ("event", "decisions", "half in", "90 % in", "99 % in", "partial")


@app.command()
def latency(
    by: Annotated[Literal["hour", "day"], typer.Option(help="What a row is.")] = "hour",
    since: Since = "1d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """Show the latency of decisions, and the calls allowed or blocked without one."""
    query = {"by": by, "since": since, "user": user}
    found = Api(administer=everybody).request("GET", "/analytics/latency", query=query)
    end_with_json(found, when=as_json)
    whole = [{"at": "all", **one} for one in found["events"]]
    show_table((by, *_LATENCY_COLUMNS), map(_latency_row, [*found["items"], *whole]), none="No decisions.")
    for one in found["failures"]:
        became = "let run" if one["answer"] == "allow" else "blocked"
        print(f"{one['at']}  {one['client']}: {one['calls']} calls {became} undecided ({one['code']})")


def _latency_row(one: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{one[name]:.1f} ms" for name in ("p50_ms", "p90_ms", "p99_ms"))
    return (one["at"].replace(":00:00Z", ":00Z"), one["event"], str(one["decisions"]), *times, str(one["degraded"]))


_ROUTING_COLUMNS = {
    "prompts": "prompts", "confident": "sure", "shortlist": "unsure", "none": "none", "judged": "judged", "right": "right",
    "false_routes": "wrong", "missed": "missed",
}  # fmt: skip


@app.command()
def routing(
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """Show how well prompts are routed, by day."""
    query = {"since": since, "user": user}
    found = Api(administer=everybody).request("GET", "/analytics/routing", query=query)
    end_with_json(found, when=as_json)
    rows = [_routing_row(one["at"][:10], one) for one in found["items"]]
    if rows:
        rows.append(_routing_row("all", found["total"]))
    show_table(("day", *_ROUTING_COLUMNS.values(), "accuracy"), rows, none="No prompt was routed.")


def _routing_row(day: str, one: dict[str, Any]) -> tuple[str, ...]:
    accuracy = f"{one['accuracy']:.0%}" if one["judged"] else "-"
    return (day, *(str(one[name]) for name in _ROUTING_COLUMNS), accuracy)
