"""`GET /ui/…`: the pages of the console, as built from `web/`. They only call the public API.

docs/decisions/0037 explains the page's content security policy.
"""

import asyncio
import gzip
import secrets
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import FileResponse, RedirectResponse, Response

from baton.kernel.base.errors import NotFound
from baton.shared import packaged

router = APIRouter(include_in_schema=False)

NONCE = "{{nonce}}"
"""Placeholder in the built page for the nonce of its styles."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'; object-src 'none'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ASSETS = "assets/"
"""Files with a digest of their content in the name, so they never change."""


@router.get("/")
async def root(accept: Annotated[str, Header()] = "") -> Response:
    """Send a browser to the console; other programs get an error."""
    if "text/html" not in accept:
        raise NotFound("there is nothing at `/` but the console, for browsers; the API is described at `/openapi.json`")
    return RedirectResponse("/ui/", status_code=307)


@router.get("/ui")
async def without_slash() -> Response:
    """Send a browser to the console's first page."""
    return RedirectResponse("/ui/", status_code=307)


@router.get("/ui/{path:path}")
async def page(path: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """Serve a file of the console, compressed for browsers, or its page for the path."""
    found = _files().get(path)
    if found is None:
        if path.startswith(_ASSETS):
            raise NotFound(f"the console has no file `{path[:200]}`; load the page again")
        return _index()
    kind = guess_type(found.name)[0] or "application/octet-stream"
    if not path.startswith(_ASSETS):
        return FileResponse(found, media_type=kind, headers={"Cache-Control": "no-cache", **_ALWAYS})
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding", **_ALWAYS}
    if "gzip" not in accept_encoding.replace(" ", "").split(","):
        return FileResponse(found, media_type=kind, headers=headers)
    packed = await asyncio.to_thread(_compressed, found)
    return Response(packed, media_type=kind, headers=headers | {"Content-Encoding": "gzip"})


def _index() -> Response:
    nonce = secrets.token_urlsafe(16)
    return Response(
        _template().replace(NONCE, nonce),
        media_type="text/html; charset=utf-8",
        headers={"Cache-Control": "no-store", "Content-Security-Policy": _POLICY.format(nonce=nonce), **_ALWAYS},
    )


@cache
def _files() -> dict[str, Path]:
    folder = packaged.folder("web/dist")
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and path.name != "index.html"
    }


@cache
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


@cache
def _template() -> str:
    return (packaged.folder("web/dist") / "index.html").read_text(encoding="utf-8")
