"""`baton context`: what is put into prompts, what of it agents use, and switching it off."""

from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, Since
from baton.cli.output import plain, show_json, show_table
from baton.local.server import Api

app = group("Show what is put into prompts and what of it is used; switch parts of it off.")

Source = Annotated[str, typer.Argument(help="The source, such as `code_analysis`; `baton context sources` lists them.")]
Team = Annotated[
    str, typer.Option("--team", help="The team that it is for. Default: everybody, which admins may decide.")
]


@app.command()
def usage(since: Since = "", as_json: AsJson = False) -> None:
    """Show tokens by source, and what of them agents used. Default: the last seven days."""
    found = Api().request("GET", "/analytics/context", query={"since": since} if since else None)
    if as_json:
        show_json(found)
        return
    rows = [
        (
            one["source"],
            one["prompts"],
            one["tokens"],
            f"{one['tokens_per_prompt']:.0f}",
            f"{one['used']} of {one['measured']}",
            f"{one['utilization']:.0%}",
        )
        for one in found
    ]
    titles = ("source", "prompts", "tokens", "a prompt", "used after", "of its names")
    show_table(titles, rows, none="Nothing was put into prompts.")
    for one in found:
        if one.get("proposal"):
            print(plain(f"! {one['proposal']}"))


@app.command()
def sources(as_json: AsJson = False) -> None:
    """List what may be put into prompts, and for whom it is off."""
    found = Api().request("GET", "/context/sources")
    if as_json:
        show_json(found)
        return
    rows = [
        (one["source"], "everybody" if one["off"] else ", ".join(one["off_for_teams"]) or "nobody") for one in found
    ]
    show_table(("source", "off for"), rows, none="No sources.")


@app.command()
def off(source: Source, team: Team = "", reason: Reason = "", as_json: AsJson = False) -> None:
    """Switch a source off."""
    _switch(source, team, reason, enabled=False, as_json=as_json)


@app.command()
def on(source: Source, team: Team = "", reason: Reason = "", as_json: AsJson = False) -> None:
    """Switch a source on again."""
    _switch(source, team, reason, enabled=True, as_json=as_json)


def _switch(source: str, team: str, reason: str, *, enabled: bool, as_json: bool) -> None:
    body = {"enabled": enabled, "team": team, "reason": reason}
    found = Api(administer=True).request("PUT", f"/context/sources/{source}", body=body)
    if as_json:
        show_json(found)
        return
    print(plain(f"{source} is {'on' if enabled else 'off'} for {f'team {team}' if team else 'everybody'}."))
