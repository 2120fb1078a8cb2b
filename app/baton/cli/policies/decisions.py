"""`baton decisions`: the newest decisions with their ids for `baton explain` and `baton report`, or a live stream."""

import sys
import time
from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Everybody, ExportFormat, Limit, Since, Until, UsageError
from baton.cli.output import end_with_json, plain, show_json_line, show_lines, show_table
from baton.local.server import Api, ApiError, TokenRefused

LONGEST = 60
"""Characters of a command or of paths that are shown."""
MOST_PAGES = 100
"""Pages that are asked for at most; each looks through ten thousand decisions or more."""
PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between attempts to continue a stream that broke."""


def decisions(
    action: Annotated[
        Literal["export"] | None, typer.Argument(help="`export` prints all that match, for another program.")
    ] = None,
    session_id: Annotated[str, typer.Option("--session", help="Only of this session.")] = "",
    decision: Annotated[Literal["allow", "ask", "block"] | None, typer.Option(help="Only these.")] = None,
    effect: Annotated[
        Literal["deny", "ask", "rewrite", "allow", "no-rule", "guidance", "shadow", "lifted"] | None,
        typer.Option(
            help="Only calls that came to this (no-rule: no rule matched), or of which a rule advised (guidance), would have"
            " stopped them (shadow), or was lifted."
        ),
    ] = None,
    outcome: Annotated[
        Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "changed_by_other", "unknown"] | None,
        typer.Option(
            help="Only calls with this outcome; ran_anyway, rewrite_ignored and changed_by_other did not run as decided."
        ),
    ] = None,
    rule: Annotated[str, typer.Option(help="Only calls matched by this rule, such as guardrails/force-push.")] = "",
    text: Annotated[str, typer.Option("--text", help="Only those with this text in tool, command or paths.")] = "",
    since: Since = "",
    until: Until = "",
    user: Annotated[str, typer.Option(help="Only of this person.")] = "",
    project: Annotated[str, typer.Option(help="Only in this project.")] = "",
    everybody: Everybody = True,
    export_format: ExportFormat = "ndjson",
    follow: Annotated[
        bool, typer.Option("--follow", help="Show decisions as they are made, until Ctrl-C; with --json, one a line.")
    ] = False,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest decisions, follow them, or export all that match."""
    spoke = "abstain" if effect == "no-rule" else effect
    given = {"session_id": session_id, "decision": decision, "effect": spoke, "rule": rule, "q": text}
    query = {name: value for name, value in (given | {"user": user, "project": project}).items() if value}
    recorded = {name: value for name, value in {"outcome": outcome, "since": since, "until": until}.items() if value}
    api = Api(administer=everybody or bool(user))
    if follow:
        if recorded or action:
            raise UsageError(
                "`--follow` takes no `--outcome`, `--since`, `--until` or `export`: it shows new decisions"
            )
        _follow(api, query, as_json)
        return
    if action:
        show_lines(api.text("/decisions/export", query | recorded | {"format": export_format}))
        return
    found = _newest(api, query | recorded | {"limit": str(limit)}, limit)
    end_with_json(found, when=as_json)
    none = "No recorded decision matches. A new one may take a second to appear."
    show_table(("id", "at", "user", "decision", "outcome", "call", "rules"), map(_row, found), none=none)


def _newest(api: Api, query: dict[str, str], limit: int) -> list[dict[str, Any]]:
    """Return the newest matching decisions. A page of rare ones covers a part, and may be empty."""
    page = api.request("GET", "/decisions", query=query)
    found = page["items"]
    for _ in range(MOST_PAGES):
        if len(found) >= limit or not page.get("next_cursor"):
            break
        page = api.request("GET", "/decisions", query=query | {"cursor": page["next_cursor"]})
        found += page["items"]
    return list(found[:limit])


def _follow(api: Api, query: dict[str, str], as_json: bool) -> None:
    """Print decisions as they arrive, across broken connections.

    Raises:
        ApiError: If the server stays unavailable.
    """
    last, broken = "", 0
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
            time.sleep(PAUSES_S[0])  # the server is stopping; the next one continues
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
