"""`GET /docs`: the API's documentation in Swagger UI, with all files from this server.

The files of Swagger UI come from the package `fastapi-offline`. FastAPI's own page loads them from another host,
unreachable for an isolated server, and has an inline script, which the Content-Security-Policy would have to allow.
"""

import asyncio
from importlib.resources import files
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Path, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

router = APIRouter(include_in_schema=False)

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Baton - API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null});\n'
# Swagger UI sets style attributes and draws its icons from data: URLs; it needs nothing else.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
Asset = Literal["swagger-ui-bundle.js", "swagger-ui.css"]


@router.api_route("/openapi.json", methods=["GET", "HEAD"])
async def openapi(request: Request) -> Response:
    """Serve the document. Building it takes a second: it is built once, on the first request, in a thread."""
    state = request.app.state
    if getattr(state, "document", None) is None:
        state.document = asyncio.create_task(asyncio.to_thread(lambda: msgspec.json.encode(request.app.openapi())))
    return Response(await asyncio.shield(state.document), media_type="application/json")


@router.get("/docs")
async def docs() -> HTMLResponse:
    """Show the page."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})


@router.get("/docs/start.js")
async def start() -> Response:
    """Serve the script that opens the document."""
    return Response(_START, media_type="text/javascript")


@router.get("/docs/{asset}")
async def asset(asset: Annotated[Asset, Path()]) -> FileResponse:
    """Serve a file of Swagger UI."""
    return FileResponse(str(files("fastapi_offline") / "static" / asset))
