"""`POST /route` and `/route/explain`: a prompt in, the agent that it is for out, or honestly none. It chooses nothing."""

from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.event import HookEvent
from baton.clients.last_heard import ClientActivity
from baton.engine.call.principal import Principal
from baton.engine.routing.candidates import Tier
from baton.engine.routing.features import NAMES
from baton.engine.routing.prompts import skip_reason, workflow_kind
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Invalid
from baton.kernel.http.asgi import Request, Response
from baton.kernel.http.fields import optional_text
from baton.kernel.http.json_io import decode_object, encode
from baton.people.permissions import require
from baton.route.feedback.service import RouteFeedback
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import candidates_of, explain
from baton.route.pipeline.stage import Route
from baton.route.prompt import Inline, Prompt
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.sessions.service import Sessions, as_call

MAX_BODY = 16 << 20
CLIENT = "api"
MOST_EXPLAINED = 2_000

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)


class CandidateView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five best. `score` is a probability from 0 to 1, `why` one line."""

    name: str
    score: float
    why: str


class WorkflowView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the prompt asks for automated work of several steps or agents."""

    detected: bool
    type: str


class DelegationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a local model answered in the agent's place; `savings` in US dollars."""

    model: str
    intent: str
    confidence: float
    savings: float
    reason: str
    text: str


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where the prompt is led. Nothing is ever null."""

    id: str
    """What feedback is given on."""
    selected_agent: str
    """"" when no agent is a clear match, or when the prompt is not for routing; `reason` says which."""
    reason: str
    confidence: float
    """The first candidate's probability."""
    candidates: list[CandidateView]
    tier: Tier
    """What decided."""
    workflow: WorkflowView
    additional_context: str
    delegated: bool
    delegation: DelegationView | UnsetType = UNSET
    timings_ms: dict[str, float]
    degraded: list[str]
    """What was absent or late."""


class ExplainedCandidate(CandidateView, frozen=True, kw_only=True):
    """An agent with everything that the scorer saw; `total` is the weighted sum of its features."""

    total: float
    features: dict[str, float]
    words: list[str]
    """Those of the prompt that spoke for it most."""


class RouteExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The whole ranking."""

    candidates: list[ExplainedCandidate]
    weights: dict[str, float]
    threshold: float
    named: str
    """The agent that the prompt names, "" for none."""
    passed: str
    """Why the prompt would not be routed, "" when it would be."""
    workflow: WorkflowView
    degraded: list[str]


class RouteEndpoint:
    """Reads a UserPromptSubmit payload and has it routed."""

    def __init__(
        self,
        pipeline: Routing,
        rosters: RoutingRosters,
        indexes: Indexes,
        feedback: RouteFeedback,
        *,
        sessions: Sessions,
        seen: ClientActivity,
    ) -> None:
        self._pipeline = pipeline
        self._rosters = rosters
        self._indexes = indexes
        self._feedback = feedback
        self._sessions = sessions
        self._seen = seen

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Route a prompt."""
        caller, event, prompt = self._read(request, caller)
        self._seen.note(caller.principal, event.client, caller.protocol)
        return Response(encode(shown(await self._pipeline.route(caller, event, prompt))))

    async def explain(self, request: Request, caller: Caller) -> Response:
        """Show every feature of every candidate; nothing is recorded."""
        _, _, prompt = self._read(request, caller)
        require(prompt.principal, "routes.make")
        found = await explain(
            self._rosters,
            self._indexes,
            prompt,
            self._feedback.weights(prompt.principal),
            MOST_EXPLAINED,
        )
        shown_candidates = candidates_of(found.index, found.ranking, MOST_EXPLAINED)
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
                for one, scored in zip(shown_candidates, found.ranking, strict=True)
            ],
            weights=msgspec.structs.asdict(found.weights),
            threshold=self._feedback.threshold,
            named=found.named,
            passed=skip_reason(prompt.text),
            workflow=WorkflowView(detected=bool(kind), type=kind),
            degraded=found.degraded,
        )
        return Response(encode(answer))

    def _read(self, request: Request, caller: Caller) -> tuple[Caller, HookEvent, Prompt]:
        payload, roster = _payload(request.body)
        event = HookEvent(
            client=optional_text(payload, "client") or CLIENT,
            name="UserPromptSubmit",
            native_name="UserPromptSubmit",
            session_id=optional_text(payload, "session_id", "sessionId"),
            agent_id=optional_text(payload, "agent_id", "agentId"),
            cwd=optional_text(payload, "cwd", "directory"),
            prompt=_prompt(payload),
        )
        project = optional_text(payload, "project")
        caller = msgspec.structs.replace(caller, project=project) if project else caller
        call = self._sessions.settle(self._sessions.place(caller.principal, as_call(caller, event)))
        return caller, event, _asked(caller.principal, event, call.project, roster)


def shown(route: Route) -> RouteAnswer:
    """Show a route as the API does."""
    delegated = route.delegated
    return RouteAnswer(
        id=route.id,
        selected_agent=route.selected_agent,
        reason=route.reason,
        confidence=route.confidence,
        candidates=[CandidateView(name=one.name, score=one.score, why=one.why) for one in route.candidates],
        tier=route.tier,
        workflow=WorkflowView(detected=route.workflow.detected, type=route.workflow.type),
        additional_context=route.additional_context,
        delegated=delegated is not None,
        delegation=UNSET
        if delegated is None
        else DelegationView(
            model=delegated.model,
            intent=delegated.intent,
            confidence=delegated.confidence,
            savings=delegated.savings,
            reason=delegated.reason,
            text=delegated.text,
        ),
        timings_ms=route.timings_ms,
        degraded=route.degraded,
    )


def _payload(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode a payload, but leave the roster as it came: a large one is likely to be known already."""
    try:
        fields = _fields.decode(body)
        roster = bytes(fields.pop("roster", b"null"))
        return {name: msgspec.json.decode(raw) for name, raw in fields.items()}, roster
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        payload = decode_object(body)
        return payload, encode(payload.pop("roster", None))


def _prompt(payload: dict[str, Any]) -> str:
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        raise Invalid("prompt", "is missing" if prompt is None else "must be a text")
    return prompt


def _asked(principal: Principal, event: HookEvent, project: str, roster: bytes) -> Prompt:
    name, inline = "", None
    match _kind(roster):
        case "name":
            name = _name(roster)
        case "list":
            inline = Inline(roster, blake2b(roster, digest_size=16).hexdigest())
        case "other":
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


def _name(roster: bytes) -> str:
    try:
        return _text.decode(roster)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Invalid("roster", "is a name of characters that cannot be read") from None


def _kind(roster: bytes) -> Literal["none", "name", "list", "other"]:
    start = roster.lstrip()[:1]
    if roster.strip() == b"null":
        return "none"
    return "name" if start == b'"' else "list" if start == b"[" else "other"
