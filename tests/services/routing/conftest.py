"""A misbehaving model endpoint, breakers on real stores, and what asks through them."""

import pytest

from app.settings import Settings
from tests.support.chat_endpoint import ChatEndpoint
from tests.support.routing import ON, Process


@pytest.fixture
async def endpoint():
    async with ChatEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def process(endpoint, redis, sqlite):
    """Make a server's parts; settings of the test come on top of everything switched on, towards the endpoint."""
    made = []

    def make(redis=redis, **settings):
        on = ON | {"model_url": endpoint.url, "model_name": "small", "llm_routing_timeout_s": 5} | settings
        made.append(Process(Settings(**on), redis, sqlite))
        return made[-1]

    yield make
    for one in made:
        await one.settle()
        await one.models.close()
