"""What became of a decided call: what its client reports of it, and whether that is what was decided."""

from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

import msgspec

Outcome = Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"]
Ended = Literal["ran", "failed", "refused"]
"""How a call ended, as a client reports it."""
DISOBEYED: frozenset[Outcome] = frozenset({"ran_anyway", "rewrite_ignored"})

_encode = msgspec.json.Encoder(order="deterministic").encode


class Watch(msgspec.Struct, frozen=True, array_like=True):
    """What is noted of a decision that a client could disobey.

    `refused` marks a call that must not run. `original` is the digest of the input as it was before a rewrite ("" for
    none), `model` the model that the rewrite put in.
    """

    refused: bool
    original: str = ""
    model: str = ""


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """The model that an agent ran on, and its tokens, as the client reports them; "" and 0 where it does not."""

    model: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


class OutcomeReport(msgspec.Struct, frozen=True, array_like=True):
    """The end of one call, for its decision's row. It is packed as an array, which tells it from a `Record`.

    With an empty `tool` it is the end of a turn: calls of that agent that a person was asked about, and of which nothing
    was heard, were refused. `can_ask` is False for a client whose dialect turns a question into a refusal.
    """

    at: datetime
    organisation: str
    user: str
    session_id: str
    agent_id: str
    tool: str
    tool_use_id: str
    outcome: Outcome
    duration_ms: int | None = None
    can_ask: bool = True
    usage: Usage = Usage()
    team: str = ""


def input_digest(tool_input: dict[str, Any]) -> str:
    """Return a short name of a tool's input: equal inputs have equal names, whatever the order of their keys."""
    try:
        content = _encode(tool_input)
    except (UnicodeEncodeError, TypeError, ValueError):  # half a surrogate pair, or a number that no float holds
        content = repr(sorted(tool_input.items(), key=repr)).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=8).hexdigest()


def judge(ended: Ended, watch: Watch | None, tool_input: dict[str, Any], usage: Usage) -> Outcome:
    """Return what became of a call, given how it ended and what was noted when it was decided."""
    if watch is None or ended == "refused":
        return ended
    if watch.refused:
        return "ran_anyway"
    if watch.original and input_digest(tool_input) == watch.original:
        return "rewrite_ignored"
    if watch.model and usage.model and not _is_of(watch.model, usage.model):
        return "rewrite_ignored"
    return ended


def usage_of(response: Any) -> Usage:
    """Read what an agent call's response tells of its model and tokens, in Claude Code's form."""
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
    """Return whether a full model name belongs to the alias or name that a rewrite put in: `haiku`, `claude-haiku-5-5`."""
    return model.casefold() in resolved.casefold() or resolved.casefold() in model.casefold()


def _count(used: dict[str, Any], name: str) -> int:
    value = used.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0
