"""What `delegate.run` says and shows: providers, its acknowledgement, its updates in ACP's shapes. It runs nothing."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal

PROVIDERS: tuple[str, ...] = ("codex", "claude_code", "opencode", "gemini")
"""Agents that a task may be delegated to; the first is the default."""
ALIASES = {"claude-code": "claude_code"}
DEFAULT_MODE = "default_mode"
"""The agent mode of a session while nothing is delegated."""
ORCHESTRATOR = "fm_orchestrator"
DELEGATED = "delegated_agent"
State = Literal[
    "pending_approval",
    "blocked",
    "queued",
    "leased",
    "running",
    "awaiting_permission",
    "completed",
    "failed",
    "cancelled",
    "skipped",
]
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined] # typing's Literal has them
HELD: tuple[State, ...] = ("leased", "running", "awaiting_permission")
"""States in which a runner has the job."""
ACTIVE: tuple[State, ...] = ("queued", *HELD)
"""States in which the session's agent mode is the job's provider."""
ENDED: tuple[State, ...] = ("completed", "failed", "cancelled", "skipped")


def state_after(depends_on: Iterable[str], states: Mapping[str, State]) -> tuple[State, str]:
    """Tell the state of a job from those of the jobs that it depends on, and which of them failed, "" for none.

    One that is not known any more counts as failed.
    """
    found = {job_id: states.get(job_id, "failed") for job_id in depends_on}
    failed = next((job_id for job_id, state in found.items() if state in ENDED and state != "completed"), "")
    if failed:
        return "skipped", failed
    return ("queued" if all(state == "completed" for state in found.values()) else "blocked"), ""


def provider_of(text: str) -> str | None:
    """Give the provider that a name stands for; None where it is none."""
    name = ALIASES.get(text, text)
    return name if name in PROVIDERS else None


def near_provider(text: str) -> str:
    """Give the provider that was likely meant, or ""."""
    return next(iter(get_close_matches(text.lower().replace(" ", "_"), PROVIDERS, n=1)), "")


def acknowledgement(provider: str, user_prompt: str) -> str:
    """Give the sentence that confirms a delegation."""
    return f"✓ Delegated to {provider}. Task: {user_prompt}"


def tool_call(job_id: str, provider: str, user_prompt: str, description: str) -> dict[str, Any]:
    """Announce the delegation as a tool call of the orchestrator."""
    arguments = {"user_prompt": user_prompt, "provider": provider}
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": job_id,
        "title": f"{provider}.run",
        "kind": "other",
        "status": "in_progress",
        "rawInput": arguments | ({"description": description} if description else {}),
    }


def tool_call_ended(job_id: str, *, completed: bool, detail: str) -> dict[str, Any]:
    """Say how the delegation ended; `detail` is what its answer or its error says, "" for nothing."""
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": job_id,
        "status": "completed" if completed else "failed",
    }
    if detail:
        update["rawOutput"] = {"detail": detail}
    return update


def mode_update(mode: str) -> dict[str, Any]:
    """Say which agent mode a session is in."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def message(text: str) -> dict[str, Any]:
    """Say something as the orchestrator; `_meta` tells it from what the delegated agent says."""
    return {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text},
        "_meta": meta_of(ORCHESTRATOR, ""),
    }


def meta_of(source: str, provider: str) -> dict[str, str]:
    """Tag an update with who speaks; the orchestrator's provider is always `foundation_models`."""
    return {"source": source, "provider": "foundation_models" if source == ORCHESTRATOR else provider}


def envelope(update: dict[str, Any], *, source: str, provider: str) -> dict[str, Any]:
    """Put an update into the body of a `session.update` event."""
    return {"update": update, "source": source, "provider": provider, "_meta": meta_of(source, provider)}


def text_of(update: dict[str, Any]) -> str:
    """Give the text of an agent's message, "" of anything else."""
    content = update.get("content")
    if update.get("sessionUpdate") != "agent_message_chunk" or not isinstance(content, dict):
        return ""
    text = content.get("text")
    return text if isinstance(text, str) else ""


def progress_of(update: dict[str, Any]) -> str:
    """Say in a line what an agent is at, where an update tells it; else ""."""
    kind = update.get("sessionUpdate")
    if kind in {"tool_call", "tool_call_update"}:
        title = update.get("title")
        return title[:200] if isinstance(title, str) else ""
    entries = update.get("entries")
    if kind != "plan" or not isinstance(entries, list):
        return ""
    steps = [entry for entry in entries if isinstance(entry, dict)]
    done = sum(entry.get("status") == "completed" for entry in steps)
    now = next((str(entry.get("content")) for entry in steps if entry.get("status") == "in_progress"), "")
    return f"{done}/{len(steps)} {now}".strip()[:200]
