"""Local answers: a small model answers a prompt in the agent's place if it passes five gates.

The gates, in order: flag, classification, endpoint, call, quality. Ahead of the classification two signals (pictures; files,
tools and whatever else the prompt does not show) keep away what a text-only model could only invent. A prompt that fails
at one is the agent's, as if there were no local model. The public API calls this delegation (`/delegation`,
`delegated`), after seed 004.
"""

import logging
from collections.abc import Mapping
from time import perf_counter

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
from baton.route.pipeline.stage import LocalAnswer, LocalAttempt, Route, StageName
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


class LocalAnswerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator has set.

    `prices` are US dollars for 1,000 tokens, of the agent's model and of the local one; `tokens` is how many an answer
    saves, by intent. With `bypass` the answer goes to the person instead of into the agent's context.
    """

    on: bool
    threshold: float
    timeout_s: float
    prices: tuple[float, float]
    tokens: Mapping[Intent, int]
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
        """Return what a prompt wants, and whether a local model would be asked. Raise Forbidden."""
        require(principal, "delegation.try")
        return self._classified(prompt)

    def judge(self, principal: Principal, intent: Intent, answer: str) -> Quality:
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
        reply, started = None, perf_counter()
        if model.breaker.allows:
            reply = await guarded(model.breaker, self.ask(model.endpoint, wanted.intent, prompt.text))
        if reply is None:
            route.degraded.append(self.name)
            route.local_attempt = self._attempt(wanted, model, started, Quality(passed=False, reason="no answer"))
            return
        quality = judge(wanted.intent, reply.text)
        route.local_attempt = self._attempt(wanted, model, started, quality)
        if not quality.passed:
            log.info("a local answer (%s) was not good enough: %s", wanted.intent, quality.reason)
            return
        route.local_answer = self._answer(wanted, model.endpoint.model or reply.model, reply.text)

    def _attempt(self, wanted: Classification, model: LocalModel, started: float, quality: Quality) -> LocalAttempt:
        saved = savings(self._settings.tokens.get(wanted.intent, 0), self._settings.prices) if quality.passed else 0.0
        return LocalAttempt(
            intent=wanted.intent,
            model=model.endpoint.model,
            confidence=wanted.confidence,
            latency_ms=round((perf_counter() - started) * 1000, 3),
            passed=quality.passed,
            reason=quality.reason,
            savings=saved,
        )

    async def ask(self, endpoint: Endpoint, intent: Intent, prompt: str) -> Reply:
        """Ask a model to answer a prompt, which is cut to length and sent without secrets.

        Raises:
            ModelFailed: If nothing came that can be used.
        """
        messages = [
            {"role": "system", "content": _SYSTEM[intent]},
            {"role": "user", "content": mask(prompt)[:LONGEST_PROMPT]},
        ]
        return await self._client.chat(
            endpoint, messages, timeout_s=self._settings.timeout_s, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
        )

    def _classified(self, prompt: str, *, workflow: bool = False) -> Classification:
        return classify(
            prompt, self._settings.threshold, workflow=workflow or workflow_kind(prompt[:LONGEST_PROMPT]) != ""
        )

    def _answer(self, wanted: Classification, model: str, text: str) -> LocalAnswer:
        shown = one_line(model, 100) or "local model"
        clean = harmless(text, LONGEST_SHOWN if self._settings.bypass else LONGEST_CONTEXT)
        saved = savings(self._settings.tokens.get(wanted.intent, 0), self._settings.prices)
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
    """Ask a model for a short answer; return the milliseconds that it took, None if it failed."""
    question = [{"role": "user", "content": "Say: ok"}]
    return await timed(client.chat(endpoint, question, timeout_s=timeout_s, max_tokens=4))
