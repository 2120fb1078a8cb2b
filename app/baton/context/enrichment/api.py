"""`/context/handlers`: handlers by URL that add to prompts, registered by admins."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from baton.context.enrichment.registry import HandlerRegistry
from baton.context.enrichment.remote import HandlerConfig
from baton.engine.text.quoting import one_line
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN

router = APIRouter(tags=["context"])
HandlerRegistryOf = Annotated[HandlerRegistry, Depends(of(HandlerRegistry))]
HandlerName = Annotated[str, Path(min_length=1, max_length=100)]


class HandlerBody(BaseModel):
    """A handler. It is posted each prompt that is routed, without its secrets, and has 150 ms to answer."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://docs.example.com/enrich", "heading": "Our Docs"}]},
    )

    url: str = Field(min_length=1, max_length=2_000)
    heading: str = Field("", max_length=60, description="The heading of its section; its name without one.")
    key: SecretStr = Field(SecretStr(""), max_length=2_000, description="Sent as a bearer token, never shown.")
    reason: str = Field("", max_length=1_000, description="The reason, for the audit log.")


class HandlerModel(BaseModel):
    """A registered handler."""

    name: str
    url: str
    heading: str
    has_key: bool

    @classmethod
    def of(cls, config: HandlerConfig) -> "HandlerModel":
        """Show a handler without its key."""
        return cls(name=config.name, url=config.url, heading=config.heading, has_key=config.key != "")


@router.get("/context/handlers", operation_id="list_context_handlers")
async def list_context_handlers(caller: CallerOf, registry: HandlerRegistryOf) -> list[HandlerModel]:
    """List the registered handlers."""
    return [HandlerModel.of(one) for one in registry.find(caller.principal)]


@router.put("/context/handlers/{name}", operation_id="put_context_handler", dependencies=[ADMIN])
async def put_context_handler(
    caller: CallerOf, registry: HandlerRegistryOf, name: HandlerName, body: HandlerBody
) -> HandlerModel:
    """Register a handler, or change one. Its host must be public, or named in `BATON_ENRICHMENT_HOSTS`."""
    config = HandlerConfig(
        name=name, url=body.url, heading=one_line(body.heading, 60) or name, key=body.key.get_secret_value()
    )
    await registry.put(caller.principal, config, body.reason)
    return HandlerModel.of(config)


@router.delete("/context/handlers/{name}", operation_id="delete_context_handler", status_code=204, dependencies=[ADMIN])
async def delete_context_handler(
    caller: CallerOf,
    registry: HandlerRegistryOf,
    name: HandlerName,
    reason: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """Remove a handler."""
    await registry.remove(caller.principal, name, reason)
    return Response(status_code=204)
