"""`GET /metrics`: what Prometheus scrapes, of all workers of the machine. It shows no user, path or command."""

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from baton.operate.metrics import CONTENT_TYPE
from baton.people.dependencies import CallerOf, ServicesOf
from baton.people.permissions import require

router = APIRouter(tags=["health"])


@router.get("/metrics", operation_id="get_metrics", response_class=PlainTextResponse)
async def metrics(caller: CallerOf, services: ServicesOf) -> Response:
    """Show all metrics in Prometheus's text format; for admins and auditors."""
    require(caller.principal, "metrics.read")
    return Response(await services.metrics.render(), media_type=CONTENT_TYPE)
