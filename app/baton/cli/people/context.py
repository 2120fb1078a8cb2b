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


handlers_app = group("List, register and remove handlers by URL that add to prompts.")
app.add_typer(handlers_app, name="handlers")
Name = Annotated[str, typer.Argument(help="The handler's name.")]


@handlers_app.command("list")
def list_handlers(as_json: AsJson = False) -> None:
    """List the registered handlers."""
    found = Api(administer=True).request("GET", "/context/handlers")
    if as_json:
        show_json(found)
        return
    rows = [(one["name"], one["url"], one["heading"], "yes" if one["has_key"] else "no") for one in found]
    show_table(("handler", "url", "heading", "key"), rows, none="No handlers.")


@handlers_app.command("add")
def add_handler(
    name: Name,
    url: Annotated[str, typer.Argument(help="Where it takes prompts.")],
    heading: Annotated[str, typer.Option("--heading", help="The heading of its section. Default: its name.")] = "",
    key: Annotated[str, typer.Option("--key", help="Sent as a bearer token.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Register a handler: it is posted each prompt without its secrets, and has 150 ms to answer."""
    body = {"url": url, "heading": heading, "key": key, "reason": reason}
    found = Api(administer=True).request("PUT", f"/context/handlers/{name}", body=body)
    if as_json:
        show_json(found)
        return
    print(plain(f"Handler {name} is asked for every prompt that is routed: {found['url']}"))


@handlers_app.command("remove")
def remove_handler(name: Name, reason: Reason = "", as_json: AsJson = False) -> None:
    """Remove a handler."""
    Api(administer=True).request("DELETE", f"/context/handlers/{name}", query={"reason": reason} if reason else None)
    if as_json:
        show_json({"removed": name})
        return
    print(f"Handler {name} was removed.")
