"""`POST /hooks/{client}`: any event of a client in, an answer in that client's dialect out.

Clients run the tool on anything but a 2xx. So this endpoint never answers an error: an unreadable call is asked about
or blocked, as the caller configured (`BATON_ON_FAILURE`), and counted.
"""

import logging
import re
from typing import Any

import msgspec

from baton.clients.event import Client, HookAnswer
from baton.clients.registry import who_posts
from baton.decide.api import decision_headers, header_text
from baton.decide.hooks import HookOutcome, Hooks
from baton.decide.prompt_texts import MOST_BYTES, MOST_LINES, lines_of, read_about
from baton.decide.strangers import Strangers
from baton.kernel.base.errors import BadJSON, BatonError, Forbidden, InternalError, Unauthenticated, UnknownClient
from baton.kernel.http.serving.hot_routes import (
    Headers,
    Request,
    Response,
    bounded,
    decode_large,
    decode_object,
    encode,
)
from baton.machines.client_processes import SHIM, ClientProcesses
from baton.machines.known_clients import known_client, read_event
from baton.machines.session_projects import ClientActivity
from baton.people.callers import CallerReader
from baton.records.hook_failures import HookFailures
from baton.records.pipeline.recorder import Counters
from baton.shared.caller import PROTOCOL, Caller, header
from baton.shared.decided import answer_of_unread
from baton.shared.record_ids import is_recent

MAX_BODY = 32 << 20
"""Bytes of an event."""
PATH = "/hooks/"
_NAMED = re.compile(rb'"(?:hook_event_name|hookEventName|hookName)"\s*:\s*"(\w{1,40})"')
_WAIT, _AGAIN = "wait ", "again"
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
        strangers: Strangers,
    ) -> None:
        self._strangers = strangers
        self._callers = callers
        self._service = service
        self._counters = counters
        self._seen = seen
        self._processes = processes
        self._failures = failures

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer one event."""
        client = _client(request)
        about = request.parameter("about")
        if about.startswith(_WAIT):
            waited = await self._service.wait(caller, about.removeprefix(_WAIT))
            return Response(b"{}", 200, _headers(waited, caller))
        if about not in {"", _AGAIN}:
            return await self._texts(request, caller, client, about)
        payload = await _payload(request.body)
        client = who_posts(client, payload)
        event = read_event(client, payload, request.parameter("event"))
        self._seen.note(caller.principal, client.name, caller.protocol)
        if event.name == "SessionStart":
            event = msgspec.structs.replace(event, agents=_checksum(request.headers))
        if SHIM in request.headers:
            await self._processes.remember(request.headers[SHIM])
        decision_id = header(request.headers, b"baton-id")
        decision_id = decision_id if is_recent(decision_id) else ""
        outcome = await self._service.handle(caller, event, again=about == _AGAIN, decision_id=decision_id)
        body = client.render(event.native_name, _with_protocol(outcome.answer, caller, event.name))
        return Response(encode(body), 200, _headers(outcome, caller))

    async def _texts(self, request: Request, caller: Caller, client: Client, about: str) -> Response:
        """Answer the texts requested from the shim. The answer replaces the event's own."""
        event, said = read_about(about, client.name)
        lines = lines_of(request.body[:MOST_BYTES], said)
        if len(request.body) >= MOST_BYTES:
            lines += [""] * (MOST_LINES + 1)
        outcome = await self._service.texts(caller, event, said.name, lines)
        return Response(encode(client.render(event.native_name, outcome.answer)), 200, _headers(outcome, caller))

    async def failed(self, request: Request, error: BatonError) -> Response:
        """Answer an event after a failure: let the tool run, or block it, as the caller configured.

        An unreadable call becomes the client's question, if it supports one, else a notice to the person.
        """
        try:
            client = _client(request)
        except UnknownClient as unknown:
            return Response(b"{}", 200, [(b"baton-error", header_text(unknown.detail))])
        on_failure = self._callers.on_failure(request.headers)
        self._counters.failed(client.name, on_failure, error.code)
        self._failures.failed(client.name, on_failure, error.code)
        log.warning("hook of %s answered with `%s`: %s", client.name, on_failure, error.detail)
        if isinstance(error, Unauthenticated):
            self._counters.token_refused(f"token {error.token_id}" if error.token_id else f"address {request.address}")
        blocks = on_failure == "block"
        if isinstance(error, Unauthenticated | Forbidden):
            try:
                return await self._unknown(request, client, error)
            except BatonError as unread:
                error, blocks = unread, True
        event = _event(client, request)
        answer = answer_of_unread(
            client.name, event, error.detail, blocks=blocks, asks=not isinstance(error, InternalError)
        )
        headers = [(b"baton-protocol", PROTOCOL.encode()), (b"baton-degraded", b"request")]
        return Response(encode(client.render(event, answer)), 200, headers)

    async def _unknown(self, request: Request, client: Client, error: BatonError) -> Response:
        """Answer an event of a caller without a valid token. Raise BadJSON, Invalid or TooLarge."""
        payload = await _payload(await bounded(request.body, result=True))
        client = who_posts(client, payload)
        event = read_event(client, payload, request.parameter("event"))
        answer = self._strangers.answer(client, event, self._callers.unknown(request.headers), error, request.address)
        headers = [(b"baton-protocol", PROTOCOL.encode()), (b"baton-degraded", b"token")]
        return Response(encode(client.render(event.native_name, answer)), 200, headers)


async def _payload(body: bytes) -> dict[str, Any]:
    """Decode an event. U+FFFD replaces bytes that are not UTF-8, such as a folder's name in a code page.

    Raises:
        BadJSON: If it is no JSON object.
    """
    try:
        return await decode_large(body)
    except BadJSON:
        return decode_object(body.decode("utf-8", "replace").encode())


def _checksum(headers: dict[bytes, bytes]) -> str:
    """Return the checksum of the agents' files, "" if absent or malformed."""
    found = headers.get(b"baton-agents", b"").decode("latin-1")
    return found if _CHECKSUM.fullmatch(found) else ""


def _client(request: Request) -> Client:
    return known_client(request.path.removeprefix(PATH))


def _event(client: Client, request: Request) -> str:
    """Return the event's name for `render`, from the URL, else from the readable part of the body."""
    named = request.parameter("event")
    if not named and (found := _NAMED.search(request.body)):
        named = found[1].decode()
    return client.read({}, named).native_name


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
    wants: Headers = [(b"baton-wants", outcome.wants.encode())] if outcome.wants else []
    if outcome.decision is not None:
        return [*decision_headers(outcome.decision, debug=caller.debug), *wants]
    headers: Headers = [(b"baton-protocol", PROTOCOL.encode()), *wants]
    if outcome.degraded:
        headers.append((b"baton-degraded", ",".join(outcome.degraded).encode()))
    return headers
