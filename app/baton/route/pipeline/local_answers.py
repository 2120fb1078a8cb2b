"""Local answers: a small model answers a prompt in the agent's place if it passes five gates.

The gates, in order: flag, classification, endpoint, call, quality. Before the classification, two signals (pictures;
files, tools and anything else missing from the prompt) reject prompts a text-only model would have to invent answers
for. A prompt failing one gate is the agent's, as if there were no local model. The public API calls this delegation
(`/delegation`, `delegated`).
"""

import logging
from collections.abc import Mapping

import msgspec

from baton.lib.router.local_answers import (
    LONGEST_PROMPT,
    AnswerQuality,
    Classification,
    Intent,
    answer_text,
    classify,
    judge,
    savings,
)
from baton.lib.router.prompts import workflow_kind
from baton.lib.text.masking import mask
from baton.lib.text.quoting import harmless, one_line
from baton.people.users import require
from baton.route.llm.breaker import Breaker
from baton.route.llm.client import Endpoint, ModelClient, Reply
from baton.route.llm.guarded_call import guarded, timed
from baton.route.pipeline.stage import LocalAnswer, Route, StageName
from baton.route.prompt import Prompt
from baton.rules.call.call import Principal

log = logging.getLogger(__name__)

THRESHOLD = 0.4  # lowest confidence of the classification for asking a local model
PRICES = (0.015, 0.001)  # US dollars for 1,000 tokens, of the agent's model and of the local one
TOKENS: dict[str, int] = {"document": 800, "test": 600, "research": 400}
"""Estimated tokens that an answer saves, by intent."""
MAX_TOKENS = 2_048
TEMPERATURE = 0.3
LONGEST_SHOWN = 16_000  # characters of an answer that are kept where it is shown to the person
LONGEST_CONTEXT = 6_000  # characters of an answer that are kept in the context, which takes it whole or not at all
SLACK_S = 1.0  # what the stage may take beside the call, in seconds
_SYSTEM: dict[Intent, str] = {
    "document": "You write documentation for developers. Write docstrings with their arguments and what they return.",
    "test": "You write tests for developers: complete test functions with assertions, in the language of the request.",
    "research": "You explain code and concepts to developers, briefly and concretely.",
}


class LocalModel(msgspec.Struct, frozen=True):
    """The endpoint for an intent's prompts, and its breaker."""

    endpoint: Endpoint
    breaker: Breaker


class LocalAnswerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings. With `bypass` the answer goes to the person instead of into the agent's context."""

    on: bool
    timeout_s: float
    bypass: bool


class LocalAnswers:
    """The stage `delegate`; the gates can be asked one by one."""

    name: StageName = "delegate"

    def __init__(self, client: ModelClient, settings: LocalAnswerSettings, models: Mapping[Intent, LocalModel]) -> None:
        self._client = client
        self._settings = settings
        self._models = models
        self.budget_s = settings.timeout_s + SLACK_S

    def classify(self, principal: Principal, prompt: str) -> Classification:
        """Return a prompt's intent, and whether a local model would be asked. Raise Forbidden."""
        require(principal, "delegation.try")
        return self._classified(prompt)

    def judge(self, principal: Principal, intent: Intent, answer: str) -> AnswerQuality:
        """Return whether an answer would pass the quality gate. Raise Forbidden."""
        require(principal, "delegation.try")
        return judge(intent, answer)

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Fill `local_answer` if all gates are passed."""
        if not self._settings.on or route.passed:
            return
        wanted = self._classified(prompt.text, workflow=route.workflow.detected)
        if not wanted.delegatable:
            return
        model = self._models.get(wanted.intent)
        if model is None:
            return
        reply = None
        if model.breaker.allows:
            reply = await guarded(model.breaker, self.ask(model.endpoint, wanted.intent, prompt.text))
        if reply is None:
            route.degraded.append(self.name)
            return
        quality = judge(wanted.intent, reply.text)
        if not quality.passed:
            log.info("a local answer (%s) was not good enough: %s", wanted.intent, quality.reason)
            return
        route.local_answer = self._answer(wanted, model.endpoint.model or reply.model, reply.text)

    async def ask(self, endpoint: Endpoint, intent: Intent, prompt: str) -> Reply:
        """Ask a model to answer a prompt, cut to length and without secrets.

        Raises:
            ModelFailed: If there is no usable answer.
        """
        messages = [
            {"role": "system", "content": _SYSTEM[intent]},
            {"role": "user", "content": mask(prompt)[:LONGEST_PROMPT]},
        ]
        return await self._client.chat(
            endpoint, messages, timeout_s=self._settings.timeout_s, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
        )

    def _classified(self, prompt: str, *, workflow: bool = False) -> Classification:
        return classify(prompt, THRESHOLD, workflow=workflow or workflow_kind(prompt[:LONGEST_PROMPT]) != "")

    def _answer(self, wanted: Classification, model: str, text: str) -> LocalAnswer:
        shown = one_line(model, 100) or "local model"
        clean = harmless(text, LONGEST_SHOWN if self._settings.bypass else LONGEST_CONTEXT)
        saved = savings(TOKENS.get(wanted.intent, 0), PRICES)
        return LocalAnswer(
            model=shown,
            intent=wanted.intent,
            confidence=wanted.confidence,
            savings=saved,
            reason=wanted.reason,
            text=answer_text(shown, clean, confidence=wanted.confidence, saved=saved, reason=wanted.reason),
            bypass=self._settings.bypass,
        )


async def probe(client: ModelClient, endpoint: Endpoint, timeout_s: float) -> float | None:
    """Ask a model for a short answer. Return the duration in milliseconds, None if it failed."""
    question = [{"role": "user", "content": "Say: ok"}]
    return await timed(client.chat(endpoint, question, timeout_s=timeout_s, max_tokens=4))
