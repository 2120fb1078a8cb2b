"""Lets a local model answer a prompt that it can, through five gates: flag, classification, endpoint, call, quality.

A prompt that fails at a gate is the agent's, as if there were no local model. It changes no file and calls no tool.
"""

import logging
from collections.abc import Mapping

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.routing.local_answers import (
    LONGEST_PROMPT,
    Classification,
    Intent,
    Quality,
    answer_text,
    classify,
    judge,
    savings,
)
from baton.engine.routing.prompts import workflow_kind
from baton.engine.text.masking import mask
from baton.engine.text.quoting import harmless, one_line
from baton.people.permissions import require
from baton.route.llm.breaker import Breaker
from baton.route.llm.client import Endpoint, ModelClient, Reply
from baton.route.llm.guarded_call import guarded, timed
from baton.route.pipeline.stage import Delegated, Route, StageName
from baton.route.prompt import Prompt

log = logging.getLogger(__name__)

MAX_TOKENS = 2_048
TEMPERATURE = 0.3
LONGEST_SHOWN = 16_000
"""Characters of an answer that are kept where it is shown to the person."""
LONGEST_CONTEXT = 6_000
"""Characters of an answer that are kept in the context, which takes it whole or not at all."""
SLACK_S = 1.0
"""What the stage may take beside the call, in seconds."""
_SYSTEM: dict[Intent, str] = {
    "document": "You write documentation for developers. Write docstrings with their arguments and what they return.",
    "test": "You write tests for developers: complete test functions with assertions, in the language of the request.",
    "research": "You explain code and concepts to developers, briefly and concretely.",
}


class LocalModel(msgspec.Struct, frozen=True):
    """Where an intent's prompts go, behind which breaker."""

    endpoint: Endpoint
    breaker: Breaker


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator has set: the flag, the least confidence, the longest wait, prices and sizes, what the answer is."""

    on: bool
    threshold: float
    timeout_s: float
    prices: tuple[float, float]
    tokens: Mapping[Intent, int]
    bypass: bool


class LocalDelegation:
    """The stage `delegate`, and its gates alone."""

    name: StageName = "delegate"

    def __init__(self, client: ModelClient, terms: Terms, models: Mapping[Intent, LocalModel]) -> None:
        self._client = client
        self._terms = terms
        self._models = models
        self.budget_s = terms.timeout_s + SLACK_S

    def classify(self, principal: Principal, prompt: str) -> Classification:
        """Tell what a prompt wants, and whether it would be delegated. Raises Forbidden."""
        require(principal, "delegation.try")
        return self._classified(prompt)

    def judge(self, principal: Principal, intent: Intent, answer: str) -> Quality:
        """Judge an answer as a local model's is judged. Raises Forbidden."""
        require(principal, "delegation.try")
        return judge(intent, answer)

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Fill `delegated` when all gates are passed."""
        if not self._terms.on or route.passed:
            return
        wanted = self._classified(prompt.text, workflow=route.workflow.detected)
        if not wanted.delegatable:
            return
        model = self._models.get(wanted.intent)
        if model is None:
            return
        asked = model.breaker.allows
        reply = await guarded(model.breaker, self.ask(model.endpoint, wanted.intent, prompt.text)) if asked else None
        if reply is None:
            route.degraded.append(self.name)
            return
        quality = judge(wanted.intent, reply.text)
        if not quality.passed:
            log.info("a local answer (%s) was not good enough: %s", wanted.intent, quality.reason)
            return
        route.delegated = self._delegated(wanted, model.endpoint.model or reply.model, reply.text)

    async def ask(self, endpoint: Endpoint, intent: Intent, prompt: str) -> Reply:
        """Have a model answer a prompt, which it gets cut and without its secrets.

        Raises:
            ModelFailed: nothing came that can be used.
        """
        messages = [
            {"role": "system", "content": _SYSTEM[intent]},
            {"role": "user", "content": mask(prompt, LONGEST_PROMPT)},
        ]
        return await self._client.chat(
            endpoint, messages, timeout_s=self._terms.timeout_s, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
        )

    def _classified(self, prompt: str, *, workflow: bool = False) -> Classification:
        return classify(
            prompt, self._terms.threshold, workflow=workflow or workflow_kind(prompt[:LONGEST_PROMPT]) != ""
        )

    def _delegated(self, wanted: Classification, model: str, text: str) -> Delegated:
        shown = one_line(model, 100) or "local model"
        clean = harmless(text, LONGEST_SHOWN if self._terms.bypass else LONGEST_CONTEXT)
        saved = savings(self._terms.tokens.get(wanted.intent, 0), self._terms.prices)
        return Delegated(
            model=shown,
            intent=wanted.intent,
            confidence=wanted.confidence,
            savings=saved,
            reason=wanted.reason,
            text=answer_text(shown, clean, confidence=wanted.confidence, saved=saved, reason=wanted.reason),
            bypass=self._terms.bypass,
        )


async def probe(client: ModelClient, endpoint: Endpoint, timeout_s: float) -> float | None:
    """Have a model say something short; gives the milliseconds that it took, None when it failed."""
    question = [{"role": "user", "content": "Say: ok"}]
    return await timed(client.chat(endpoint, question, timeout_s=timeout_s, max_tokens=4))
