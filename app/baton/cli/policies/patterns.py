"""`baton patterns`: a team's learned patterns for its agents."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, path_of
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api

app = group("Propose, approve and search your team's patterns.")

PatternId = Annotated[str, typer.Argument(help="The pattern's id, as `baton patterns list` shows it.")]
Team = Annotated[str, typer.Option(help="The team. Default: your own; only admins may name another.")]
Project = Annotated[str, typer.Option(help="Only in this project. Default: in all of the team.")]
Confidence = Annotated[float, typer.Option(min=0, max=1, help="How sure it is; below 0.7 it is kept and not used.")]
_LONGEST_SHOWN = 80


@app.command("list")
def list_(
    status: Annotated[
        Literal["proposed", "validated", "retired"] | None, typer.Option(help="Only with this status.")
    ] = None,
    words: Annotated[str, typer.Option(help="Only with all of these words in the signature or the text.")] = "",
    project: Annotated[str, typer.Option(help="Only of this project.")] = "",
    team: Team = "",
    as_json: AsJson = False,
) -> None:
    """List patterns, the newest first."""
    found = Api().pages("/patterns", {"status": status or "", "words": words, "project": project, "team": team})
    end_with_json(found, when=as_json)
    rows = [
        (
            one["id"],
            one["status"],
            f"{one['confidence']:.2f}",
            one["signature"][:_LONGEST_SHOWN],
            one["project"],
            one["source"],
            one["shown"],
            one["followed"],
            one["violated"],
        )
        for one in found
    ]
    columns = ("id", "status", "sure", "signature", "project", "from", "shown", "followed", "violated")
    show_table(columns, rows, none="No patterns.")


@app.command()
def add(
    signature: Annotated[str, typer.Argument(help="The advice in one line.")],
    text: Annotated[str, typer.Option(help="More about it, for the agents.")] = "",
    project: Project = "",
    language: Annotated[str, typer.Option(help="The language of the checked files, such as python.")] = "",
    domain: Annotated[str, typer.Option(help="Its subject, such as testing.")] = "",
    glob: Annotated[list[str] | None, typer.Option(help="Checked files, such as `src/**`. Repeatable.")] = None,
    confidence: Confidence = 0.8,
    forbidden: Annotated[str, typer.Option(help="An RE2 expression forbidden in an edit.")] = "",
    wanted: Annotated[str, typer.Option(help="An RE2 expression required in an edit.")] = "",
    when: Annotated[str, typer.Option(help="Check only edits matching this RE2 expression.")] = "",
    message: Annotated[str, typer.Option(help="Message to the agent about such an edit.")] = "",
    approve_it: Annotated[bool, typer.Option("--approve", help="Approve it at once: leads and admins.")] = False,
    team: Team = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Propose a pattern. It is used once a lead or an admin has approved it."""
    check = {"forbidden": forbidden, "wanted": wanted, "when": when, "message": message}
    body = {
        "signature": signature,
        "text": text,
        "project": project,
        "language": language,
        "domain": domain,
        "globs": glob or [],
        "confidence": confidence,
        "check": {name: value for name, value in check.items() if value},
        "team": team,
        "reason": reason,
    }
    api = Api(administer=approve_it)
    made = api.request("POST", "/patterns", body=body)
    if approve_it:
        made = _decide(api, made["id"], "approve", {"reason": reason}, version=made["version"])
    end_with_json(made, when=as_json)
    if approve_it:
        _say_decided(made)
        return
    print(f"Proposed as {made['id']}. A lead approves it with: baton patterns approve {made['id']}")


@app.command()
def propose(team: Team = "", as_json: AsJson = False) -> None:
    """Propose patterns from repetitions in your team's records of the last 30 days. Leads and admins only."""
    made = Api(administer=True).request("POST", "/patterns/proposals", query={"team": team})["items"]
    end_with_json(made, when=as_json)
    rows = [(one["id"], f"{one['confidence']:.2f}", one["signature"], one["project"]) for one in made]
    show_table(("id", "sure", "signature", "project"), rows, none="The records repeat nothing new.")


@app.command()
def approve(
    pattern_id: PatternId,
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="The confidence from now on. Default: the stated one.")
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Put a pattern in force. Leads and admins only."""
    body: dict[str, Any] = {"reason": reason} | ({} if confidence is None else {"confidence": confidence})
    approved = _decide(Api(administer=True), pattern_id, "approve", body)
    end_with_json(approved, when=as_json)
    _say_decided(approved)


@app.command()
def retire(pattern_id: PatternId, reason: Reason = "", as_json: AsJson = False) -> None:
    """Take a pattern out of force, or decline a proposal. Leads and admins only."""
    retired = _decide(Api(administer=True), pattern_id, "retire", {"reason": reason})
    end_with_json(retired, when=as_json)
    print(f"Pattern {retired['id']} is retired.")


@app.command()
def merge(
    pattern_id: PatternId,
    into: Annotated[str, typer.Argument(help="The remaining pattern.")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Retire a pattern in favour of another, and add its counts to that. Leads and admins only."""
    merged = _decide(Api(administer=True), pattern_id, "merge", {"into": into, "reason": reason})
    end_with_json(merged, when=as_json)
    print(f"Pattern {pattern_id} went into {merged['id']}.")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A prompt, or any text.")],
    project: Annotated[str, typer.Option(help="As in a session of this project.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=50, help="Show at most this many.")] = 10,
    team: Team = "",
    as_json: AsJson = False,
) -> None:
    """Find patterns in force for a query, the best first."""
    if not text.strip():
        raise UsageError("the text is empty; give some words")
    query = {"text": text, "project": project, "team": team, "limit": str(limit)}
    found = Api().request("GET", "/patterns/search", query=query)
    end_with_json(found, when=as_json)
    rows = [
        (f"{one['score']:.2f}", one["pattern"]["id"], one["pattern"]["signature"][:_LONGEST_SHOWN])
        for one in found["items"]
    ]
    show_table(("fits", "id", "signature"), rows, none="Nothing fits.")
    if "embeddings" in found["degraded"]:
        print("Compared by words alone: the server's word table is missing (`baton doctor`).")


def _decide(
    api: Api, pattern_id: str, action: str, body: dict[str, Any], *, version: int | None = None
) -> dict[str, Any]:
    path = path_of("patterns", pattern_id)
    seen = api.request("GET", path)["version"] if version is None else version
    decided: dict[str, Any] = api.request("POST", f"{path}/{action}", body=body, headers={"If-Match": f'"{seen}"'})
    return decided


def _say_decided(pattern: dict[str, Any]) -> None:
    used = "is in force" if pattern["in_force"] else "is validated, but not sure enough to be used (0.7)"
    print(f"Pattern {pattern['id']} {used}: {pattern['signature']}")
