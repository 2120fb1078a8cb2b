"""The tier `model`: a model chooses among the scorer's candidates when the scorer is unsure."""

import asyncio

from baton.lib.router.agents import Candidate
from baton.lib.router.model_choice import messages, names, read, response_format, unsure
from baton.route.llm.breaker import Breaker
from baton.route.llm.client import Endpoint, ModelClient, ModelFailed
from baton.route.llm.guarded_call import guarded, timed
from baton.route.llm.health import ModelHealth
from baton.route.pipeline.stage import Choice
from baton.route.prompt import Prompt

NAME = "model"  # the name of its breaker
MAX_TOKENS = 64  # enough for any name
_UNKNOWN_FORMAT = frozenset({400, 415, 422})  # how services answer that do not know `response_format`
_SAMPLE = (
    Candidate(name="documenter", score=0.3, why="", description="writes documentation and docstrings"),
    Candidate(name="tester", score=0.3, why="", description="writes and repairs tests"),
)  # what a probe asks about: about as long as a short question of a real prompt


class ChoiceClient:
    """Asks one endpoint, limited to the candidates by a JSON schema as long as it supports one."""

    def __init__(self, client: ModelClient, endpoint: Endpoint, timeout_s: float) -> None:
        self._client = client
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._constrained = True

    async def ask(self, prompt: str, candidates: tuple[Candidate, ...]) -> str:
        """Return the chosen name, "" for none of them.

        Raises:
            ModelFailed: If there is no answer, or it names none of the candidates.
        """
        allowed = names(candidates)
        question = messages(prompt, [one for one in candidates if one.name in allowed])
        until = asyncio.get_running_loop().time() + self._timeout_s
        try:
            text = await self._answer(question, allowed, until)
        except ModelFailed as error:
            if error.status not in _UNKNOWN_FORMAT or not self._constrained:
                raise
            # Retry without the schema in the remaining time. Only a success keeps the schema off: a service refusing
            # both has another reason.
            self._constrained = False
            try:
                text = await self._answer(question, allowed, until)
            except ModelFailed:
                self._constrained = True
                raise
        said = read(text, allowed)
        if said is None:
            raise ModelFailed("garbage", "it names none of the candidates")
        return said

    async def probe(self) -> float | None:
        """Send a sample. Return the duration in milliseconds, None if it failed."""
        return await timed(self.ask("Write tests for the parser", _SAMPLE))

    async def _answer(self, question: list[dict[str, str]], allowed: tuple[str, ...], until: float) -> str:
        reply = await self._client.chat(
            self._endpoint,
            question,
            timeout_s=until - asyncio.get_running_loop().time(),
            max_tokens=MAX_TOKENS,
            response_format=response_format(allowed) if self._constrained else None,
        )
        return reply.text


class ModelTier:
    """The tier itself: the model behind its health check and its breaker."""

    def __init__(self, client: ChoiceClient, endpoint: Endpoint, health: ModelHealth, breaker: Breaker) -> None:
        self._client = client
        self._endpoint = endpoint
        self._health = health
        self._breaker = breaker

    async def choose(self, prompt: Prompt, candidates: tuple[Candidate, ...]) -> Choice | None:
        """Choose one of the candidates or none of them; return None if the model has nothing to say."""
        if not unsure(candidates) or not names(candidates):
            return None
        if not self._health.status.up or not self._breaker.allows:
            return None
        said = await guarded(self._breaker, self._client.ask(prompt.text, candidates))
        return None if said is None else Choice(agent=said, model=self._endpoint.model)
