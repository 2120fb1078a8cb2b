"""`baton decisions`: the newest decisions, with the ids that `baton explain` and `baton report` take, or all as they come."""

import sys
import time
from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Limit, UsageError
from baton.cli.output import plain, show_json, show_json_line, show_table
from baton.local.server import Api, ApiError, TokenRefused

LONGEST = 60
"""Characters of a command or of paths that are shown."""
MOST_PAGES = 100
"""Pages that are asked for at most; each looks through ten thousand decisions or more."""
PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between attempts to continue a stream that broke."""


def decisions(
    session_id: Annotated[str, typer.Option("--session", help="Only of this session.")] = "",
    decision: Annotated[Literal["allow", "ask", "block"] | None, typer.Option(help="Only these.")] = None,
    effect: Annotated[
        Literal["deny", "ask", "rewrite", "allow", "abstain", "guidance", "shadow", "lifted"] | None,
        typer.Option(
            help="Only calls that came to this (abstain: no rule spoke), or of which a rule advised (guidance), would have"
            " stopped them (shadow), or was lifted."
        ),
    ] = None,
    outcome: Annotated[
        Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"] | None,
        typer.Option(help="Only calls that ended so; ran_anyway and rewrite_ignored are disobeyed decisions."),
    ] = None,
    rule: Annotated[str, typer.Option(help="Only those that this rule matched, such as guardrails/force-push.")] = "",
    text: Annotated[str, typer.Option("--text", help="Only those with this text in tool, command or paths.")] = "",
    follow: Annotated[
        bool, typer.Option("--follow", help="Show decisions as they are made, until Ctrl-C; with --json, one a line.")
    ] = False,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest decisions, or follow them."""
    given = {"session_id": session_id, "decision": decision, "effect": effect, "rule": rule, "q": text}
    query = {name: value for name, value in given.items() if value}
    if follow:
        if outcome:
            raise UsageError("`--follow` takes no `--outcome`: how a call ends is not known when it is decided")
        _follow(query, as_json)
        return
    more = {"limit": str(limit)} | ({"outcome": outcome} if outcome else {})
    found = _newest(query | more, limit)
    if as_json:
        show_json(found)
        return
    none = "No decision is recorded that fits; one that was just made may take a second to appear."
    show_table(("id", "at", "user", "decision", "outcome", "call", "rules"), map(_row, found), none=none)


def _newest(query: dict[str, str], limit: int) -> list[dict[str, Any]]:
    """Return the newest decisions that fit; a page of what is rare looks through a part, and may hold none."""
    api = Api()
    page = api.request("GET", "/decisions", query=query)
    found = page["items"]
    for _ in range(MOST_PAGES):
        if len(found) >= limit or not page.get("next_cursor"):
            break
        page = api.request("GET", "/decisions", query=query | {"cursor": page["next_cursor"]})
        found += page["items"]
    return list(found[:limit])


def _follow(query: dict[str, str], as_json: bool) -> None:
    """Print decisions as they come, across broken connections.

    Raises:
        ApiError: If the server stays away.
    """
    api, last, broken = Api(), "", 0
    while True:
        try:
            for name, kind, data in api.events("/decisions/stream", last, query):
                last, broken = name, 0
                if kind == "gap":
                    missed = f"baton: decisions between {data['from']} and {data['to']} may be missing here"
                    print(f"{missed}; `baton decisions` lists them.", file=sys.stderr)
                for one in data["items"] if kind == "decisions" else ():
                    if as_json:
                        show_json_line(one)
                    else:
                        print(plain("  ".join(filter(None, _row(one)))), flush=True)
            time.sleep(PAUSES_S[0])  # the server is stopping; the next one goes on
        except KeyboardInterrupt:
            return
        except ApiError as error:
            if not last or broken == len(PAUSES_S) or isinstance(error, TokenRefused):
                raise
            time.sleep(PAUSES_S[broken])
            broken += 1


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    what = " ".join((one.get("command") or ", ".join(one["paths"])).split())
    shown = what if len(what) <= LONGEST else f"{what[: LONGEST - 1]}…"
    call = f"{one.get('tool', one['event'])} {shown}".rstrip()
    rules = ", ".join(hit["id"] for hit in one["rules"])
    return one["id"], f"{one['at'][:19]}Z", one["user"], one["decision"], one.get("outcome", ""), call, rules
