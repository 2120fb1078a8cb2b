"""Answers hooks of callers without a valid token, by the guardrails and the organisation's rules alone.

Revoking a token must not switch its guard off. But anybody may send such a request, so nothing of a user is read,
written or recorded, and an address may not send many.
"""

from collections import OrderedDict
from hashlib import blake2b

import msgspec

from baton.clients.event import Client, HookAnswer, HookEvent
from baton.clients.registry import can_block
from baton.decide.service import Installation
from baton.kernel.base.errors import BatonError, RateLimited
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.people.rate_limits import RateLimits
from baton.policies.in_force import Policies
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.shared.caller import Caller, as_call
from baton.shared.decided import answer_of

_MOST_TOLD = 4_096
"""Sessions of which is remembered that their person was told."""
_SIGN_IN = "Sign in again: `baton auth login`, then `baton hooks install`. `baton doctor` says more."


class Strangers:
    """Answers the events of unknown callers."""

    def __init__(
        self, policies: Policies, modes: Modes, freezes: Freezes, installation: Installation, limits: RateLimits
    ) -> None:
        self._policies = policies
        self._modes = modes
        self._freezes = freezes
        self._installation = installation
        self._limits = limits
        self._told: OrderedDict[bytes, None] = OrderedDict()

    def answer(self, client: Client, event: HookEvent, caller: Caller, error: BatonError, address: str) -> HookAnswer:
        """Decide a call, refuse any other refusable event, and notify the person once a session.

        With blocking on failure, every undecidable call is blocked: the caller's own rules are not asked.
        """
        reason = f"Baton does not accept this machine's token: {error.detail}."
        answer = HookAnswer()
        if event.name in {"PreToolUse", "PermissionRequest"}:
            blocks = caller.on_failure == "block"
            answer = _blocked(reason) if blocks else self._decided(caller, event, address)
        elif can_block(client.name, event.name):
            answer = HookAnswer(effect="deny", reason=f"{reason} Ask the person: {_SIGN_IN}")
        told = msgspec.structs.replace(
            answer,
            system_message=(
                f"BATON DOES NOT KNOW WHO WORKS HERE: {error.detail}. Calls are decided by the guardrails and your"
                f" organisation's rules alone, and prompts are refused. {_SIGN_IN}"
            ),
        )
        is_shown = client.render(event.native_name, told) != client.render(event.native_name, answer)
        return told if is_shown and self._is_first(client.name, event, address) else answer

    def _decided(self, caller: Caller, event: HookEvent, address: str) -> HookAnswer:
        try:
            self._limits.check("unknown", address)
        except RateLimited as error:
            return HookAnswer(effect="deny", reason=f"Baton cannot identify the caller: {error.detail}.")
        principal = caller.principal
        mode = self._modes.effective(principal, "", "")
        facts = Facts(
            call=as_call(caller, event),
            level=mode.level if mode.enabled else "off",
            history=None,
            background_running=None,
            other_editor=None,
            principal=principal,
            freeze=self._freezes.in_force(principal, "", ""),
            installed=self._installation.with_paths(caller.installed),
        )
        answer = answer_of(evaluate(self._policies.active, facts))
        if event.name == "PermissionRequest" and answer.effect != "deny":
            return HookAnswer()
        # A stranger gets only a verdict: no advice, and no model of a team's roster.
        return HookAnswer(effect=answer.effect, reason=answer.reason)

    def _is_first(self, client: str, event: HookEvent, address: str) -> bool:
        """Return whether this is the session's first notice. A session's start always is."""
        key = blake2b(f"{client}\n{address}\n{event.session_id}".encode("utf-8", "replace"), digest_size=16).digest()
        is_new = key not in self._told
        self._told[key] = None
        if len(self._told) > _MOST_TOLD:
            self._told.popitem(last=False)
        return is_new or event.name == "SessionStart"


def _blocked(reason: str) -> HookAnswer:
    return HookAnswer(
        effect="deny",
        reason=f"{reason} This project blocks undecided calls (BATON_ON_FAILURE=block). Ask the person: {_SIGN_IN}",
    )
