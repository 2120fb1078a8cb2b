"""The tier `node`: an external routing node, by its URL. It may only choose among the given agents.

The node is posted `{"prompt", "session_id", "project", "roster", "agents": [{"name", "description"}]}` and answers
`{"selected_agent": name or "", "confidence": 0 to 1}`; the prompt comes without its secrets.
"""

from typing import Annotated, Any

import msgspec

from baton.lib.router.agents import Candidate
from baton.lib.text.masking import WINDOW, mask
from baton.route.llm.breaker import Breaker
from baton.route.llm.client import ModelClient, ModelFailed
from baton.route.llm.guarded_call import guarded, timed
from baton.route.pipeline.stage import Choice
from baton.route.prompt import Prompt

NAME = "node"  # the name of its breaker
_SAMPLE = ({"name": "tester", "description": "writes and repairs tests"},)


class _Answer(msgspec.Struct):
    selected_agent: str
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None


_answer = msgspec.json.Decoder(_Answer)


class NodeClient:
    """A client of one node."""

    def __init__(self, client: ModelClient, url: str, key: str, timeout_s: float) -> None:
        self._client = client
        self._url = url
        self._key = key
        self._timeout_s = timeout_s

    async def ask(self, body: dict[str, Any]) -> Choice:
        """Ask the node to choose an agent.

        Raises:
            ModelFailed: If there is no answer, or it names an agent outside the given ones.
        """
        found = await self._client.post(self._url, body, self._key, self._timeout_s)
        try:
            answer = _answer.decode(found)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise ModelFailed("garbage", "its answer is not that of a routing node") from None
        if answer.selected_agent and all(answer.selected_agent != agent["name"] for agent in body["agents"]):
            raise ModelFailed("garbage", "it names an agent that it was not asked about")
        return Choice(agent=answer.selected_agent)

    async def probe(self) -> float | None:
        """Send a sample. Return the duration in milliseconds, None if it failed."""
        body = {
            "prompt": "Write tests for the parser",
            "session_id": "",
            "project": "",
            "roster": "",
            "agents": _SAMPLE,
        }
        return await timed(self.ask(body))


class ExternalNode:
    """The tier itself: the node behind its breaker."""

    def __init__(self, node: NodeClient, breaker: Breaker) -> None:
        self._node = node
        self._breaker = breaker

    async def choose(self, prompt: Prompt, candidates: tuple[Candidate, ...]) -> Choice | None:
        """Choose one of the candidates or none of them; return None if the node has nothing to say."""
        if not candidates or not self._breaker.allows:
            return None
        body = {
            "prompt": mask(prompt.text)[:WINDOW],
            "session_id": prompt.session_id,
            "project": prompt.project,
            "roster": prompt.roster,
            "agents": [{"name": one.name, "description": one.description} for one in candidates],
        }
        return await guarded(self._breaker, self._node.ask(body))
