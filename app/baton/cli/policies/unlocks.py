"""`baton policy unlock`, `unlocks`, `relock`: locked rules unlocked by an admin for a time."""

from typing import Annotated

import typer

from baton.cli.options import AsJson, Reason, UsageError, from_now, path_of
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api


def unlock(
    rule: Annotated[str, typer.Argument(help="A locked rule's id, or a pattern: 'guardrails/force-*'.")],
    reason: Annotated[str, typer.Option(help="The reason, for the audit log.")],
    span: Annotated[str, typer.Option("--for", metavar="SPAN", help="How long: 30m, 8h, 30d at most.")] = "8h",
    team: Annotated[str, typer.Option(help="For a team alone. Default: for everybody.")] = "",
    user: Annotated[str, typer.Option(help="For a user alone.")] = "",
    as_json: AsJson = False,
) -> None:
    """Unlock locked rules for a time: layers may then loosen them. Admins only.

    Nothing is loosened yet: switch the rule off in a layer (`baton policy push`), or grant an exception
    (`baton exceptions grant`). When the time is over the lock applies again, regardless of the layers.
    """
    if team and user:
        raise UsageError("give --team or --user, not both; neither means everybody")
    body = {"rule": rule, "team": team, "user": user, "reason": reason, "until": from_now(span)}
    made = Api(administer=True).request("POST", "/policies/unlocks", body=body)
    end_with_json(made, when=as_json)
    print(f"{made['rule']} is unlocked for {_whom(made)} until {made['until']}.")
    print(f"Lock it again with: baton policy relock {made['id']}")


def unlocks(as_json: AsJson = False) -> None:
    """List the unlocked rules."""
    found = Api(administer=True).request("GET", "/policies/unlocks")
    end_with_json(found, when=as_json)
    rows = [(one["id"], one["rule"], _whom(one), one["until"], one["created_by"], one["reason"]) for one in found]
    show_table(("id", "rule", "for", "until", "by", "reason"), rows, none="Nothing is unlocked.")


def relock(
    unlock_id: Annotated[str, typer.Argument(help="Its id, as listed.")], reason: Reason = "", as_json: AsJson = False
) -> None:
    """End an unlock before its time."""
    Api(administer=True).request("DELETE", path_of("policies", "unlocks", unlock_id), query={"reason": reason})
    end_with_json({"ended": unlock_id}, when=as_json)
    print(f"Unlock {unlock_id} has ended: the lock holds again.")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (unlock, unlocks, relock):
        app.command()(command)


def _whom(one: dict[str, str]) -> str:
    return f"team {one['team']}" if one["team"] else one["user"] or "everybody"
