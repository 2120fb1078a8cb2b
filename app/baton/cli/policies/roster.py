"""`baton roster`: the agents for routing prompts."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, path_of
from baton.cli.output import end_with_json, plain, show_json, show_table
from baton.local.server import Api, ApiError

app = group("Push and show the agents for routing prompts.")

Name = Annotated[str, typer.Argument(help="The roster.")]
_SUFFIXES = {".md", ".yaml", ".yml"}


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(help="A folder of agents' files, such as `.claude/agents`.")],
    name: Annotated[str, typer.Option("--name", help="The roster's name. Default: the project's folder.")] = "",
    tier: Annotated[Literal["team", "organisation"], typer.Option("--tier", help="Owner of the roster.")] = "team",
    team: Annotated[str, typer.Option("--team", help="The team. Default: your own.")] = "",
    description: Annotated[str, typer.Option("--description", help="Purpose of the roster.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Push a folder of markdown and YAML files as a new version of a roster, active at once."""
    if not folder.is_dir():
        raise UsageError(f"`{folder}` is not a folder")
    files = _files(folder)
    if not files:
        raise ApiError(f"`{folder}` holds no agents' files; allowed: `.md`, `.yaml`, `.yml`")
    api = Api(administer=True)
    name = name or _name(folder)
    body = {"files": files, "description": description, "reason": reason}
    stored = api.request("PUT", path_of("rosters", name), query={"tier": tier, "team": team}, body=body)
    end_with_json(stored, when=as_json)
    whose = f"team {stored['team']}" if stored["tier"] == "team" else "the organisation"
    agents = f"{stored['agents']} agent{'s' if stored['agents'] != 1 else ''}"
    print(f"Roster {stored['name']} of {whose}: version {stored['version']} with {agents} is active.")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the rosters for routing your prompts, pushed ones first."""
    found = Api().request("GET", "/routing/rosters")
    end_with_json(found, when=as_json)
    rows = [
        (one["name"], one["source"], one.get("version", ""), one["agents"], one["description"][:80]) for one in found
    ]
    show_table(("roster", "source", "version", "agents", "description"), rows, none="No rosters.")


@app.command()
def show(
    name: Name,
    agent: Annotated[str, typer.Argument(help="One agent, for its whole definition.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show a roster's agents, or one agent's whole definition."""
    path = path_of("routing", "rosters", name) + (path_of("agents", agent) if agent else "")
    found = Api().request("GET", path)
    if as_json:
        show_json(found)
    elif agent:
        _show_definition(found)
    else:
        rows = [(one["name"], one["description"][:90]) for one in found["rows"]]
        show_table(("agent", "description"), rows, none="No agents.")


@app.command()
def remove(
    name: Name,
    tier: Annotated[Literal["team", "organisation"], typer.Option("--tier", help="Owner of the roster.")] = "team",
    team: Annotated[str, typer.Option("--team", help="The team. Default: your own.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Deactivate a pushed roster; its versions stay."""
    query = {"tier": tier, "reason": reason, "team": team}
    Api(administer=True).request("DELETE", path_of("rosters", name), query=query)
    end_with_json({"removed": name, "tier": tier}, when=as_json)
    print(f"Roster {name} is no longer active.")


@app.command()
def agents(as_json: AsJson = False) -> None:
    """List the agents of your clients, as reported at their sessions' start."""
    found = Api().request("GET", "/inventory")
    end_with_json(found, when=as_json)
    for one in found:
        print(plain(f"{one['client']} in {one['project']}"))
        for agent in one["agents"]:
            model = f"its file says `model: {agent['model']}`" if "model" in agent else "its file names no model"
            print(plain(f"  {agent['name']} ({agent['source']}): {model}"))
    if not found:
        print("No agents are known: none has a file where a client looks for it, or no session has started since.")


def _files(folder: Path) -> dict[str, str]:
    """Read the files of agents. Print that Markdown without front matter is left out: clients ignore it, too."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            name, text = path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8-sig", errors="replace")
            if path.suffix == ".md" and not text.lstrip().startswith("---"):
                print(f"baton roster: left out `{name}`: it has no front matter", file=sys.stderr)
            else:
                files[name] = text
    return files


def _show_definition(found: dict[str, Any]) -> None:
    print(plain(f"{found['name']}\n\n{found['description']}"))
    for part in ("triggers", "capabilities", "examples"):
        if found[part]:
            print(f"\n{part.capitalize()}:\n" + "\n".join(f"- {plain(text)}" for text in found[part]))
    if found["body"]:
        print(plain(f"\n{found['body']}"))


def _name(folder: Path) -> str:
    """Name a roster after the project: `shop/.claude/agents` is `shop`."""
    parts = [part for part in folder.resolve().parts if part not in {"agents", ".claude", ".opencode", ".codex"}]
    return parts[-1] if len(parts) > 1 else "agents"
