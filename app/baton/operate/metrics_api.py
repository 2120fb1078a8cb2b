"""`GET /metrics`: the counts of all workers of this machine, for Prometheus; without users, paths or commands."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import PlainTextResponse

from baton.kernel.http.features import of
from baton.operate.metrics import CONTENT_TYPE, Metrics
from baton.people.callers import CallerOf
from baton.people.permissions import require

router = APIRouter(tags=["health"])
MetricsOf = Annotated[Metrics, Depends(of(Metrics))]


@router.get("/metrics", operation_id="get_metrics", response_class=PlainTextResponse)
async def metrics(caller: CallerOf, metrics: MetricsOf) -> Response:
    """Show all metrics in Prometheus's text format; for admins and auditors."""
    require(caller.principal, "metrics.read")
    return Response(await metrics.render(), media_type=CONTENT_TYPE)
