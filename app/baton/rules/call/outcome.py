"""The outcome of a decided call: the client's report, and whether it matches the decision."""

from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from baton.rules.call.call import ToolCall
from baton.rules.call.kept import Id, Name

Outcome = Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "changed_by_other", "unknown"]
Ended = Literal["ran", "failed", "refused"]  # the end of a call, in a client's report
DISOBEYED: frozenset[Outcome] = frozenset({"ran_anyway", "rewrite_ignored", "changed_by_other"})
_NOT_COMPARED = frozenset({"description", "model", "timeout", "timeout_ms"})
_COMPLETED_BY_A_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode", "EnterPlanMode"})

_encode = msgspec.json.Encoder(order="deterministic").encode


class Watch(msgspec.Struct, frozen=True, array_like=True):
    """Notes on a decision for comparison with the client's report.

    `refused` marks a call that must not run. `original` is the digest of the input before a rewrite (or ""), `model`
    the rewrite's model, `judged` the digest of the relevant input that may run.
    """

    refused: bool
    original: str = ""
    model: str = ""
    judged: str = ""


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """An agent's model and tokens, by the client's report; "" and 0 if unknown."""

    model: Name = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


class OutcomeReport(msgspec.Struct, frozen=True, array_like=True):
    """The end of one call, for its decision's row. It is packed as an array, unlike a `Record`.

    An empty `tool` is the end of a turn: calls without a report that a person was asked about were refused. If the client
    reports each call that ran (`reports_all`), so were all others without a report: by the client, another hook or the
    person. `can_ask` is False for a client whose dialect turns a question into a refusal.
    """

    at: datetime
    organisation: Name
    user: Name
    session_id: Id
    agent_id: Id
    tool: Name
    tool_use_id: Id
    outcome: Outcome
    duration_ms: int | None = None
    can_ask: bool = True
    usage: Usage = Usage()
    team: Name = ""
    reports_all: bool = False


def injected_model(call: ToolCall, updated: dict[str, Any] | None) -> str:
    """Return the model that a rewrite gives to a call; "" for none."""
    model = (updated or {}).get("model")
    return model if isinstance(model, str) and model != call.tool_input.get("model") else ""


def input_digest(tool_input: dict[str, Any]) -> str:
    """Return a short digest of a tool's input, independent of the order of keys."""
    try:
        content = _encode(tool_input)
    except (UnicodeEncodeError, TypeError, ValueError):  # a lone surrogate, or a number out of range
        content = repr(sorted(tool_input.items(), key=repr)).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=8).hexdigest()


def judged_digest(tool: str, tool_input: dict[str, Any]) -> str:
    """Return the digest of the relevant input; "" for a tool with an input completed by a person.

    Clients add defaults, omit empty values, describe calls and map models to their own names.
    """
    if tool in _COMPLETED_BY_A_PERSON:
        return ""
    return input_digest({key: value for key, value in tool_input.items() if value and key not in _NOT_COMPARED})


def judge(ended: Ended, watch: Watch | None, tool: str, tool_input: dict[str, Any], usage: Usage) -> Outcome:
    """Return a call's outcome from its reported end and the notes on its decision."""
    if watch is None or ended == "refused":
        return ended
    if watch.refused:
        return "ran_anyway"
    if watch.original and input_digest(tool_input) == watch.original:
        return "rewrite_ignored"
    if watch.judged and tool_input and judged_digest(tool, tool_input) != watch.judged:
        return "changed_by_other"
    if watch.model and usage.model and not _is_of(watch.model, usage.model):
        return "rewrite_ignored"
    return ended


def usage_of(response: Any) -> Usage:
    """Read the model and tokens from an agent call's response, in Claude Code's form."""
    if not isinstance(response, dict):
        return Usage()
    told = response.get("usage")
    used = told if isinstance(told, dict) else {}
    model = response.get("resolvedModel")
    return Usage(
        model=model if isinstance(model, str) else "",
        input_tokens=_count(used, "input_tokens") + _count(used, "cache_creation_input_tokens"),
        cached_tokens=_count(used, "cache_read_input_tokens"),
        output_tokens=_count(used, "output_tokens"),
    )


def _is_of(model: str, resolved: str) -> bool:
    """Return whether a full model name matches a rewrite's alias or name: `haiku`, `claude-haiku-5-5`."""
    return model.casefold() in resolved.casefold() or resolved.casefold() in model.casefold()


def _count(used: dict[str, Any], name: str) -> int:
    value = used.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0
