"""The engine's input (facts) and output (verdict)."""

from typing import Any, Literal

import msgspec

from baton.lib.bash.model import Shell
from baton.rules.call.call import ModelChoice, OwnAgent, Principal, ToolCall
from baton.rules.call.kept import Name
from baton.rules.call.modes import Freeze

Level = Literal["off", "guidance", "strict"]
HitEffect = Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"]
VerdictEffect = Literal["deny", "ask", "rewrite", "allow", "abstain"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All inputs of a decision; the engine reads nothing else.

    `history` are the tool names of this session and agent before this call, oldest first; None if unreadable.
    `background_running` counts the session's background tasks. `other_editor` is the id of another live session with a
    recent edit of the call's file (or ""). Both are None if unreadable. `lifted` names rules lifted by a person for
    this session; a locked one has its effect all the same. `installed` are the paths of Baton and its clients on the
    caller's machine and on this server's, besides those in config.yaml (see `places.installed_paths`).
    `freeze` is the freeze in force for the call, None for none.
    `accepts_rewrites` are the tools, besides those starting agents, whose input the developer lets policies change.
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
    freeze: Freeze | None = None
    own_agent: OwnAgent | None = None
    """The started agent by its own file; None if the call starts none, or no file is known."""


class RuleHit(msgspec.Struct, frozen=True):
    """A matching rule with its effect.

    `guidance` is a deny softened by the guidance level. A rule in `shadow`, or `lifted` for the session, matched
    without effect. A rewrite of a tool closed to policies is `shadow`.
    """

    id: Name
    effect: HitEffect


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The engine's answer. The effect `abstain` means that no rule matched: no opinion.

    `rule` is the id of the deciding rule ("" on abstain). `reason` is the text for the agent on deny and ask,
    `guidance` the text with an allowed call, `suggestion` a ready-made Task call. `updated_input` is the full tool
    input after rewriting, or None; `message` describes the rewrite. `notice` informs the person about changes beyond
    the model, and the rules behind them. `model` is the started agent's, None for other calls. `blind` names facts
    needed by a rule but missing; `errors` names failed expressions, as `when:rule/id`.
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
