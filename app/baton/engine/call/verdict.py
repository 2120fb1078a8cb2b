"""What the engine is asked (facts) and what it answers (verdict)."""

from typing import Any, Literal

import msgspec

from baton.engine.call.agent_model import ModelChoice, OwnAgent
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.shell.model import Shell

Level = Literal["off", "guidance", "strict"]
EVERY = "*"
"""In `Facts.lifted`: every rule that the mode switches."""
HitEffect = Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"]
VerdictEffect = Literal["deny", "ask", "rewrite", "allow", "abstain"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision depends on; the engine reads nothing else.

    `history` holds the tool names of this session and agent before this call, oldest first; None when it could not
    be read. `background_running` counts the session's background tasks, `other_editor` is the id of another live
    session that has just edited the call's file ("" for none); both are None when they could not be read.
    `lifted` names rules that a person has lifted for this session; one that is locked has its effect all the same.
    `installed` are the paths of Baton and its clients on the caller's machine and on this server's, besides those that
    config.yaml names (see `places.installed_paths`).
    `accepts_rewrites` are the tools, besides those that start agents, whose input the developer lets policies change.
    """

    call: ToolCall
    level: Level = "off"
    history: tuple[str, ...] | None = ()
    background_running: int | None = 0
    other_editor: str | None = ""
    principal: Principal = Principal()
    lifted: frozenset[str] = frozenset()
    installed: str = ""
    accepts_rewrites: frozenset[str] = frozenset()
    own_agent: OwnAgent | None = None
    """The agent that the call starts, as its own file describes it; None if the call starts none, or no file is known."""


class RuleHit(msgspec.Struct, frozen=True):
    """A rule that matched, with the effect that it had.

    `guidance` is a deny that the guidance level softened; a rule in `shadow`, or one that was
    `lifted` for the session, was asked and changed nothing. A rewrite of a tool that no policy may rewrite is `shadow`.
    """

    id: str
    effect: HitEffect


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The engine's answer. The effect `abstain` means that no rule matched: no opinion.

    `rule` is the id of the deciding rule ("" on abstain). `reason` is the text for the agent on deny and ask,
    `guidance` the text beside an allowed call, `suggestion` a ready-made Task call. `updated_input` is the full tool
    input after rewriting, or None when nothing was rewritten; `message` says what was rewritten. `notice` tells the
    person that more than the model was changed, and by which rules. `model` is that of the agent which the call starts,
    None for a call that starts none. `blind` names the
    facts that a rule needed and that were missing; `errors` names expressions that failed, as `when:rule/id`.
    """

    effect: VerdictEffect = "abstain"
    rule: str = ""
    hits: tuple[RuleHit, ...] = ()
    reason: str = ""
    guidance: str = ""
    suggestion: str = ""
    updated_input: dict[str, Any] | None = None
    message: str = ""
    notice: str = ""
    shell: Shell | None = None
    model: ModelChoice | None = None
    blind: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
