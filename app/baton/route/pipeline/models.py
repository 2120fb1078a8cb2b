"""The services for routing, built from the settings: the node, the model, the local models, each with its breaker."""

import asyncio

from baton.context.enrichment.summarization import MODEL_S
from baton.kernel.base.settings import Settings
from baton.lib.router.local_answers import Intent
from baton.route.llm.breaker_rules import Limits
from baton.route.llm.breakers import Breakers
from baton.route.llm.client import Endpoint, ModelClient
from baton.route.llm.health import ModelHealth, ModelStatus
from baton.route.pipeline.external_node import NAME as NODE
from baton.route.pipeline.external_node import ExternalNode, NodeClient
from baton.route.pipeline.local_answers import LocalAnswers, LocalAnswerSettings, LocalModel, probe
from baton.route.pipeline.model_choice import NAME as MODEL
from baton.route.pipeline.model_choice import ChoiceClient, ModelTier
from baton.route.pipeline.shorter_lines import NAME as SUMMARY
from baton.route.pipeline.shorter_lines import ShorterLines
from baton.route.pipeline.shorter_lines import probe as summary_probe

LOCAL = "local"
"""The breaker of the local models; with the intent's name behind it if each intent has a model of its own."""


class Models:
    """The configured and enabled services; `node`, `model` and `summary` are None if they are not."""

    def __init__(self, settings: Settings, breakers: Breakers) -> None:
        self._client = ModelClient()
        self._breakers = breakers
        self._limits = Limits(slow_ms=settings.breaker_slow_ms)
        self._health: ModelHealth | None = None
        self.model = self._model(settings)
        self.node = self._node(settings)
        self.local_answers = self._local_answers(settings)
        self.summary = self._summary(settings)

    @property
    def status(self) -> ModelStatus | None:
        """The model's health; None if routing asks no model."""
        return self._health.status if self._health else None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def check(self, _stop: asyncio.Event) -> None:
        """Check the model."""
        if self._health is not None:
            await self._health.check()

    def _model(self, settings: Settings) -> ModelTier | None:
        if not settings.llm_routing_on:
            return None
        endpoint = _endpoint(settings)
        client = ChoiceClient(self._client, endpoint, settings.llm_routing_timeout_s)
        self._health = ModelHealth(self._client, endpoint)
        return ModelTier(client, endpoint, self._health, self._breakers.make(MODEL, self._limits, client.probe))

    def _summary(self, settings: Settings) -> ShorterLines | None:
        if not (settings.enrichment_on and settings.model_url):
            return None
        endpoint = _endpoint(settings)
        limits = Limits(slow_ms=MODEL_S * 1000)
        breaker = self._breakers.make(SUMMARY, limits, lambda: summary_probe(self._client, endpoint))
        return ShorterLines(self._client, endpoint, breaker)

    def _node(self, settings: Settings) -> ExternalNode | None:
        if not settings.routing_node_on:
            return None
        key = settings.routing_node_key.get_secret_value()
        node = NodeClient(self._client, settings.routing_node_url, key, settings.llm_routing_timeout_s)
        return ExternalNode(node, self._breakers.make(NODE, self._limits, node.probe))

    def _local_answers(self, settings: Settings) -> LocalAnswers:
        answers = LocalAnswerSettings(
            on=settings.local_delegation_on,
            timeout_s=settings.local_delegation_timeout_s,
            bypass=settings.local_delegation_as == "answer",
        )
        return LocalAnswers(self._client, answers, self._local_models(settings) if answers.on else {})

    def _local_models(self, settings: Settings) -> dict[Intent, LocalModel]:
        timeout_s = settings.local_delegation_timeout_s
        if settings.local_delegation_endpoints:
            return {
                intent: self._local_model(
                    f"{LOCAL}-{intent}",
                    Endpoint(url=one.url, model=one.model, key=one.key.get_secret_value()),
                    timeout_s,
                )
                for intent, one in settings.local_delegation_endpoints.items()
            }
        if not settings.model_url:
            return {}
        one = self._local_model(LOCAL, _endpoint(settings), timeout_s)
        return {"document": one, "test": one, "research": one}

    def _local_model(self, name: str, endpoint: Endpoint, timeout_s: float) -> LocalModel:
        """Return a local model. Only timeouts count as slow, because an answer takes seconds anyway."""
        limits = Limits(slow_ms=timeout_s * 1000)
        breaker = self._breakers.make(name, limits, lambda: probe(self._client, endpoint, timeout_s))
        return LocalModel(endpoint, breaker)


def _endpoint(settings: Settings) -> Endpoint:
    return Endpoint(url=settings.model_url, model=settings.model_name, key=settings.model_key.get_secret_value())
