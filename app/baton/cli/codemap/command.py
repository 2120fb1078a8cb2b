"""`baton codemap`: sends your project's files and symbols, so prompts can point to them."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from baton.cli.codemap.files import batches, outlines, project_files
from baton.cli.groups import group
from baton.cli.options import AsJson
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api
from baton.shared.code_map import MOST_AT_ONCE

app = group("Send your project's file and symbol names, so prompts can point to them.")

VALUES_AT_ONCE = 18_000
"""Values and keys in one request, of which the server takes 20,000: it reads a request in one go."""


@app.command()
def push(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the outline without sending it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send the outline of this project: paths, names, kinds and lines of definitions, no source text.

    Files ignored by git are left out, and only changes are sent. Only your own sessions use it.
    """
    api = Api()
    root = Path(api.project.root)
    found, left_out = outlines(root, project_files(root))
    if dry_run:
        end_with_json([msgspec.to_builtins(_named(one)) for one in found])
    digests = {one.path: one.digest for one in found}
    missing = set(api.request("PUT", "/codemap", body={"files": digests})["missing"])
    changed = [one for one in found if one.path in missing]
    for batch in batches(changed, MOST_AT_ONCE, VALUES_AT_ONCE):
        api.request("PUT", "/codemap/files", body={"outlines": [_named(one) for one in batch]})
    symbols = sum(len(one.symbols) for one in found)
    end_with_json(
        {
            "project": api.project.name,
            "files": len(found),
            "symbols": symbols,
            "sent": len(changed),
            "left_out": left_out,
        },
        when=as_json,
    )
    print(f"Code map of {api.project.name}: {len(found)} files with {symbols} symbols; {len(changed)} files were sent.")
    if left_out:
        print(f"  {left_out} files were left out: a code map has its limits, and files near the root go first.")


@app.command()
def show(as_json: AsJson = False) -> None:
    """List your code maps."""
    found = Api().request("GET", "/codemap")
    end_with_json(found, when=as_json)
    rows = [(one["project"], one["files"], one["symbols"], one["version"], one["updated_at"]) for one in found]
    show_table(
        ("project", "files", "symbols", "version", "updated"),
        rows,
        none="No code maps; `baton codemap push` sends one.",
    )


@app.command()
def drop(
    project: Annotated[str, typer.Argument(help="The project. Default: this folder's project.")] = "",
    as_json: AsJson = False,
) -> None:
    """Remove your code map of a project from the server."""
    api = Api()
    project = project or api.project.name
    api.request("DELETE", "/codemap", query={"project": project})
    end_with_json({"dropped": project}, when=as_json)
    print(f"The code map of {project} was removed.")


def _named(one: object) -> dict[str, object]:
    """Return an outline for the API: symbols as objects with names, not as rows."""
    built = msgspec.to_builtins(one)
    fields = ("name", "kind", "line", "within")
    built["symbols"] = [dict(zip(fields, symbol, strict=False)) for symbol in built["symbols"]]
    return dict(built)
