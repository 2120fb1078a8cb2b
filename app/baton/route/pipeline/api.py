"""`POST /route` and `/route/explain`: find the agent for a prompt, or explain why there is none."""

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.event import HookEvent
from baton.kernel.base.errors import Invalid
from baton.kernel.http.fields import optional_text
from baton.kernel.http.serving.hot_routes import Request, Response, decode_object, encode
from baton.lib.router.agents import Tier
from baton.lib.router.features import DEFAULT, NAMES
from baton.lib.router.prompts import skip_reason, workflow_kind
from baton.machines.session_projects import ClientActivity
from baton.people.users import require
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import candidates_of, explain
from baton.route.pipeline.stage import Route
from baton.route.prompt import InlineRoster, Prompt
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.rules.call.call import Principal
from baton.sessions.service import Sessions
from baton.shared.caller import Caller, as_call
from baton.shared.storable import project_name

# The HTTP models of `/route` and `/route/explain`.


class CandidateView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five best. `score` is a probability from 0 to 1, `why` one line."""

    name: str
    score: float
    why: str


class IntentView(msgspec.Struct, frozen=True, kw_only=True):
    """One of several requests in the prompt: its text, and its agent."""

    text: str
    agent: str
    confidence: float


class WorkflowView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the prompt asks for automated work of several steps or agents."""

    detected: bool
    type: str


class DelegationView(msgspec.Struct, frozen=True, kw_only=True):
    """A local model's answer in the agent's place; `savings` in US dollars."""

    model: str
    intent: str
    confidence: float
    savings: float
    reason: str
    text: str


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt's route. Nothing is ever null."""

    id: str  # what feedback is given on
    selected_agent: str  # "" when no agent is a clear match, or when the prompt is not for routing; `reason` says which
    reason: str
    confidence: float  # the first candidate's probability
    candidates: list[CandidateView]
    tier: Tier  # what decided
    intents: list[IntentView]
    """The parts of a prompt that are for different agents; empty when it is for one, or for none."""
    workflow: WorkflowView
    additional_context: str
    delegated: bool
    delegation: DelegationView | UnsetType = UNSET
    timings_ms: dict[str, float]
    degraded: list[str]  # what was absent or late

    @classmethod
    def build(cls, route: Route) -> "RouteAnswer":
        """Show a route as the API does."""
        answer = route.local_answer
        return cls(
            id=route.id,
            selected_agent=route.selected_agent,
            reason=route.reason,
            confidence=route.confidence,
            candidates=[CandidateView(name=one.name, score=one.score, why=one.why) for one in route.candidates],
            tier=route.tier,
            intents=[IntentView(text=one.text, agent=one.agent, confidence=one.confidence) for one in route.intents],
            workflow=WorkflowView(detected=route.workflow.detected, type=route.workflow.type),
            additional_context=route.additional_context,
            delegated=answer is not None,
            delegation=UNSET if answer is None else msgspec.convert(answer, DelegationView, from_attributes=True),
            timings_ms=route.timings_ms,
            degraded=route.degraded,
        )


class ExplainedCandidate(CandidateView, frozen=True, kw_only=True):
    """An agent with all inputs of the scorer; `total` is the weighted sum of its features."""

    total: float
    features: dict[str, float]
    words: list[str]  # those of the prompt that spoke for it most


class RouteExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The whole ranking."""

    candidates: list[ExplainedCandidate]
    weights: dict[str, float | list[float]]
    threshold: float
    named: str  # the agent that the prompt names, "" for none
    passed: str  # why the prompt would not be routed, "" when it would be
    workflow: WorkflowView
    degraded: list[str]


MAX_BODY = 16 << 20
CLIENT = "api"
MOST_EXPLAINED = 2_000  # agents of an explanation: those of the largest roster

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)


class RouteEndpoint:
    """Reads a UserPromptSubmit payload and has it routed."""

    def __init__(
        self,
        pipeline: Routing,
        rosters: RoutingRosters,
        indexes: Indexes,
        *,
        threshold: float,
        sessions: Sessions,
        seen: ClientActivity,
    ) -> None:
        self._pipeline = pipeline
        self._rosters = rosters
        self._indexes = indexes
        self._threshold = threshold
        self._sessions = sessions
        self._seen = seen

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Route a prompt."""
        caller, event, prompt = await self._read(request, caller)
        self._seen.note(caller.principal, event.client, caller.protocol)
        return Response(encode(RouteAnswer.build(await self._pipeline.route(caller, event, prompt))))

    async def explain(self, request: Request, caller: Caller) -> Response:
        """Show every feature of every candidate; nothing is recorded."""
        _, _, prompt = await self._read(request, caller)
        require(prompt.principal, "routes.make")
        explanation = await explain(self._rosters, self._indexes, prompt, MOST_EXPLAINED)
        candidates = candidates_of(explanation.index, explanation.ranking, MOST_EXPLAINED)
        kind = workflow_kind(prompt.text)
        answer = RouteExplained(
            candidates=[
                ExplainedCandidate(
                    name=one.name,
                    score=one.score,
                    why=one.why,
                    total=round(scored.score, 4),
                    features={n: round(v, 4) for n, v in zip(NAMES, scored.features, strict=True)},
                    words=list(scored.words),
                )
                for one, scored in zip(candidates, explanation.ranking, strict=True)
            ],
            weights=msgspec.structs.asdict(DEFAULT),
            threshold=self._threshold,
            named=explanation.named,
            passed=skip_reason(prompt.text),
            workflow=WorkflowView(detected=bool(kind), type=kind),
            degraded=explanation.degraded,
        )
        return Response(encode(answer))

    async def _read(self, request: Request, caller: Caller) -> tuple[Caller, HookEvent, Prompt]:
        payload, roster = _payload(request.body)
        event = HookEvent(
            client=optional_text(payload, "client") or CLIENT,
            name="UserPromptSubmit",
            native_name="UserPromptSubmit",
            session_id=optional_text(payload, "session_id", "sessionId"),
            agent_id=optional_text(payload, "agent_id", "agentId"),
            cwd=optional_text(payload, "cwd", "directory"),
            prompt=_prompt_text(payload),
        )
        project = project_name(optional_text(payload, "project"))
        caller = msgspec.structs.replace(caller, project=project) if project else caller
        call = await self._sessions.projects.placed(caller.principal, as_call(caller, event))
        prompt = _prompt(caller.principal, event, call.project, roster)
        if not (prompt.roster or prompt.inline):
            agents, missing = await self._sessions.inventory(
                caller.principal, event.session_id, event.client, call.project
            )
            prompt = msgspec.structs.replace(prompt, agents=agents, agents_missing=missing)
        return caller, event, prompt


def _payload(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode a payload, but keep the roster's bytes: a large one is probably indexed already, by its digest."""
    try:
        fields = _fields.decode(body)
        roster = bytes(fields.pop("roster", b"null"))
        return {name: msgspec.json.decode(raw) for name, raw in fields.items()}, roster
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # `decode_object` takes some of what msgspec refuses here (half a surrogate pair), or says what is wrong.
        payload = decode_object(body)
        return payload, encode(payload.pop("roster", None))


def _prompt_text(payload: dict[str, Any]) -> str:
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        raise Invalid("prompt", "is missing" if prompt is None else "must be a string")
    return prompt


def _prompt(principal: Principal, event: HookEvent, project: str, roster: bytes) -> Prompt:
    name, inline = "", None
    roster = roster.strip()
    if roster.startswith(b'"'):
        name = _roster_name(roster)
    elif roster.startswith(b"["):
        inline = InlineRoster(roster, blake2b(roster, digest_size=16).hexdigest())
    elif roster != b"null":
        raise Invalid("roster", "must be a roster's name, or a list of agents")
    return Prompt(
        text=event.prompt,
        principal=principal,
        client=event.client,
        session_id=event.session_id,
        agent_id=event.agent_id,
        project=project,
        roster=name,
        inline=inline,
    )


def _roster_name(roster: bytes) -> str:
    try:
        return _text.decode(roster)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Invalid("roster", "is a name of characters that cannot be read") from None
