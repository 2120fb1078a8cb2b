"""`POST /route` and `/route/explain`: find the agent that a prompt is for, or say why there is none."""

from hashlib import blake2b
from typing import Any

import msgspec

from baton.clients.event import HookEvent
from baton.clients.last_heard import ClientActivity
from baton.engine.call.principal import Principal
from baton.engine.routing.features import NAMES
from baton.engine.routing.prompts import skip_reason, workflow_kind
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Invalid
from baton.kernel.http.asgi import Request, Response
from baton.kernel.http.fields import optional_text
from baton.kernel.http.json_io import decode_object, encode
from baton.people.permissions import require
from baton.route.feedback.service import RouteFeedback
from baton.route.pipeline.bodies import ExplainedCandidate, RouteAnswer, RouteExplained, WorkflowView
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import candidates_of, explain
from baton.route.prompt import InlineRoster, Prompt
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.sessions.service import Sessions, as_call

MAX_BODY = 16 << 20
CLIENT = "api"
MOST_EXPLAINED = 2_000
"""Agents of an explanation: those of the largest roster."""

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)


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
        caller, event, prompt = await self._read(request, caller)
        self._seen.note(caller.principal, event.client, caller.protocol)
        return Response(encode(RouteAnswer.of(await self._pipeline.route(caller, event, prompt))))

    async def explain(self, request: Request, caller: Caller) -> Response:
        """Show every feature of every candidate; nothing is recorded."""
        _, _, prompt = await self._read(request, caller)
        require(prompt.principal, "routes.make")
        weights = self._feedback.weights(prompt.principal)
        explanation = await explain(self._rosters, self._indexes, prompt, weights, MOST_EXPLAINED)
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
            weights=msgspec.structs.asdict(weights),
            threshold=self._feedback.threshold,
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
        project = optional_text(payload, "project")
        caller = msgspec.structs.replace(caller, project=project) if project else caller
        call = await self._sessions.placed(caller.principal, as_call(caller, event))
        prompt = _prompt(caller.principal, event, call.project, roster)
        if not (prompt.roster or prompt.inline):
            agents, missing = await self._sessions.inventory(
                caller.principal, event.session_id, event.client, call.project
            )
            prompt = msgspec.structs.replace(prompt, agents=agents, agents_missing=missing)
        return caller, event, prompt


def _payload(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode a payload, but leave the roster as it came: a large one is likely to be indexed already, by its digest."""
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
        raise Invalid("prompt", "is missing" if prompt is None else "must be a text")
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
