"""`POST /hooks/{client}`: any event of a client in, an answer in that client's dialect out.

Clients run the tool on anything but a 2xx. So this endpoint never answers an error: an event that cannot be read gets
the answer that the caller configured for failures (`BATON_ON_FAILURE`), and is counted.
"""

import logging
import re

import msgspec

from baton.clients.client_processes import SHIM, ClientProcesses
from baton.clients.event import Client, HookAnswer
from baton.clients.last_heard import ClientActivity
from baton.clients.registry import known_client, who_posts
from baton.decide.api import decision_headers, header_text
from baton.decide.hooks import HookOutcome, Hooks
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import BatonError, Forbidden, TooLarge, Unauthenticated, UnknownClient
from baton.kernel.http.asgi import Headers, Request, Response
from baton.kernel.http.json_io import decode_large, decode_object, encode
from baton.people.callers import PROTOCOL, CallerReader
from baton.records.analytics.hook_failures import HookFailures
from baton.records.pipeline.counters import Counters

MAX_BODY = 32 << 20
"""Bytes of an event."""
PATH = "/hooks/"
_CHECKSUM = re.compile(r"[0-9]{1,10}-[0-9]{1,10}")

log = logging.getLogger(__name__)


class HooksEndpoint:
    """Read a client's event, dispatch it, render the answer in the client's dialect."""

    def __init__(
        self,
        callers: CallerReader,
        service: Hooks,
        counters: Counters,
        seen: ClientActivity,
        processes: ClientProcesses,
        *,
        failures: HookFailures,
    ) -> None:
        self._callers = callers
        self._service = service
        self._counters = counters
        self._seen = seen
        self._processes = processes
        self._failures = failures

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer one event."""
        client = _client(request)
        payload = await decode_large(request.body)
        client = who_posts(client, payload)
        event = client.read(payload, request.parameter("event"))
        self._seen.note(caller.principal, client.name, caller.protocol)
        if event.name == "SessionStart":
            event = msgspec.structs.replace(event, agents=_checksum(request.headers))
            if SHIM in request.headers:
                await self._processes.note(request.headers[SHIM])
        outcome = await self._service.handle(caller, event)
        body = client.render(event.native_name, _with_protocol(outcome.answer, caller, event.name))
        return Response(encode(body), 200, _headers(outcome, caller))

    def failed(self, request: Request, error: BatonError) -> Response:
        """Answer an event that could not be served: let the tool run, or block it, as the caller configured."""
        try:
            client = _client(request)
        except UnknownClient as unknown:
            return Response(b"{}", 200, [(b"baton-error", header_text(unknown.detail))])
        on_failure = self._callers.on_failure(request.headers)
        self._counters.failed(client.name, on_failure, error.code)
        self._failures.failed(client.name, on_failure, error.code)
        log.warning("hook of %s answered with `%s`: %s", client.name, on_failure, error.detail)
        event = request.parameter("event")
        answer, degraded = HookAnswer(), b"request"
        refused = isinstance(error, Unauthenticated | Forbidden)
        if isinstance(error, Unauthenticated):
            self._counters.token_refused(f"token {error.token_id}" if error.token_id else f"address {request.address}")
        if refused:
            event = _event(client, request)
            answer, degraded = HookAnswer(system_message=_unguarded(error)), b"token"
        elif isinstance(error, TooLarge) and event in {"", "PreToolUse"}:
            answer = HookAnswer(system_message=f"Baton did not check this call: {error.detail}.")
        if on_failure == "block" and event in {"", "PreToolUse", "PermissionRequest"}:
            reason = _unknown(error) if refused else _refusal(error)
            answer = HookAnswer(effect="deny", reason=reason, system_message=answer.system_message)
        headers = [(b"baton-protocol", PROTOCOL.encode()), (b"baton-degraded", degraded)]
        return Response(encode(client.render(event, answer)), 200, headers)


def _checksum(headers: dict[bytes, bytes]) -> str:
    """Return the checksum of the agents' files, "" for none or for what is no checksum."""
    found = headers.get(b"baton-agents", b"").decode("latin-1")
    return found if _CHECKSUM.fullmatch(found) else ""


def _client(request: Request) -> Client:
    return known_client(request.path.removeprefix(PATH))


def _refusal(error: BatonError) -> str:
    return (
        f"Baton blocked this call because it could not read it: {error.detail}. This project blocks calls that cannot be"
        " decided (BATON_ON_FAILURE=block). Make the call smaller or simpler, or ask the person to run `baton status`."
    )


def _event(client: Client, request: Request) -> str:
    """Return the event's name, from the body if it can be read, else from the URL."""
    try:
        return client.read(decode_object(request.body), request.parameter("event")).native_name
    except BatonError:
        return request.parameter("event")


def _unguarded(error: BatonError) -> str:
    return (
        f"BATON IS NOT CHECKING THIS SESSION: {error.detail}. Your team's rules are not applied until this is fixed."
        " Run `baton doctor`."
    )


def _unknown(error: BatonError) -> str:
    return (
        f"Baton blocked this call because it does not accept this machine's token: {error.detail}. This project blocks"
        " calls that cannot be decided (BATON_ON_FAILURE=block). Ask the person to run `baton doctor`."
    )


def _with_protocol(answer: HookAnswer, caller: Caller, event: str) -> HookAnswer:
    if event != "SessionStart" or caller.protocol in {"", PROTOCOL}:
        return answer
    older = "hooks" if caller.protocol < PROTOCOL else "server"
    notice = (
        f"Baton's {older} should be updated: the hooks speak protocol {caller.protocol}, the server {PROTOCOL}. "
        + ("Run `baton hooks install`." if older == "hooks" else "Calls are decided all the same.")
    )
    return HookAnswer(
        effect=answer.effect,
        reason=answer.reason,
        updated_input=answer.updated_input,
        context=answer.context,
        system_message=" ".join(filter(None, (answer.system_message, notice))),
    )


def _headers(outcome: HookOutcome, caller: Caller) -> Headers:
    if outcome.decision is not None:
        return decision_headers(outcome.decision, debug=caller.debug)
    headers: Headers = [(b"baton-protocol", PROTOCOL.encode())]
    if outcome.wants_agents:
        headers.append((b"baton-wants", b"agents"))
    if outcome.degraded:
        headers.append((b"baton-degraded", ",".join(outcome.degraded).encode()))
    return headers
