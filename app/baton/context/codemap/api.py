"""`/codemap`: the code maps of your own projects. `baton codemap push` sends them, without any file content."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.context.codemap.service import CodeMaps
from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.shared import code_map

router = APIRouter(tags=["codemap"])
CodeMapsOf = Annotated[CodeMaps, Depends(of(CodeMaps))]
ProjectQuery = Annotated[
    str, PROJECT, Query(max_length=1_000, description="The project. Default: the header `Baton-Project`.")
]
Name = Annotated[str, Field(min_length=1, max_length=code_map.LONGEST_NAME)]
Path = Annotated[str, Field(min_length=1, max_length=code_map.LONGEST_PATH)]


class SymbolBody(BaseModel):
    """A definition: `line` counts from 1, `within` is the class or module containing it."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    kind: code_map.Kind = Field(description=f"One of {', '.join(code_map.KINDS)}.")
    line: int = Field(ge=1, le=10_000_000)
    within: str = Field("", max_length=code_map.LONGEST_NAME)


class OutlineBody(BaseModel):
    """The outline of one file; `mentions` are names used but not defined in it."""

    model_config = ConfigDict(extra="forbid")

    path: Path
    language: str = Field(max_length=40)
    symbols: list[SymbolBody] = Field([], max_length=code_map.MOST_SYMBOLS)
    mentions: list[Name] = Field([], max_length=code_map.MOST_MENTIONS)

    def outline(self) -> code_map.Outline:
        """Return its stored form."""
        return code_map.Outline(
            path=self.path,
            language=self.language,
            symbols=tuple(code_map.Symbol(one.name, one.kind, one.line, one.within) for one in self.symbols),
            mentions=tuple(self.mentions),
        )


class OutlinesBody(BaseModel):
    """Outlines of new or changed files."""

    model_config = request_body(
        {"outlines": [{"path": "src/cart.py", "language": "python", "symbols": [{"name": "Cart", "kind": "class",
        "line": 3}], "mentions": ["Tax"]}]}
    )  # fmt: skip

    outlines: list[OutlineBody] = Field(min_length=1, max_length=code_map.MOST_AT_ONCE)


class ManifestBody(BaseModel):
    """All files of the project: the digest of each one's outline by its path."""

    model_config = request_body({"files": {"src/cart.py": "4f1d9c0a83b2417790c1d2e3"}})

    files: dict[Path, Annotated[str, Field(min_length=1, max_length=64)]] = Field(max_length=code_map.MOST_FILES)


class MissingModel(BaseModel):
    """The files with a missing or outdated outline on the server."""

    missing: list[str]


class CodeMapModel(BaseModel):
    """One of your code maps; `version` counts its changes."""

    project: str
    version: int
    updated_at: datetime
    files: int
    symbols: int


@router.get("/codemap")
async def list_code_maps(caller: CallerOf, maps: CodeMapsOf) -> list[CodeMapModel]:
    """List your own code maps, the newest first; other users cannot see them."""
    return [CodeMapModel.model_validate(one, from_attributes=True) for one in await maps.list_maps(caller.principal)]


@router.put("/codemap", dependencies=[WORK])
async def put_code_map(
    caller: CallerOf, maps: CodeMapsOf, body: ManifestBody, project: ProjectQuery = ""
) -> MissingModel:
    """Store the list of the project's files: remove the maps of others, and return the files to send."""
    missing = await maps.settle(caller.principal, project or caller.project, body.files)
    return MissingModel(missing=missing)


@router.put("/codemap/files", status_code=204, dependencies=[WORK])
async def put_code_map_files(
    caller: CallerOf, maps: CodeMapsOf, body: OutlinesBody, project: ProjectQuery = ""
) -> Response:
    """Store the outlines of files."""
    await maps.put_files(caller.principal, project or caller.project, [one.outline() for one in body.outlines])
    return Response(status_code=204)


@router.delete("/codemap", status_code=204, dependencies=[WORK])
async def delete_code_map(caller: CallerOf, maps: CodeMapsOf, project: ProjectQuery = "") -> Response:
    """Remove your code map of a project."""
    await maps.drop(caller.principal, project or caller.project)
    return Response(status_code=204)
