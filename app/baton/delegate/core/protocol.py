"""Delegation in the Agent Client Protocol's terms: providers, acknowledgement, updates."""

from typing import Any

DEFAULT_MODE = "default_mode"  # the agent mode of a session without delegation
CHUNKS = frozenset(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"])
"""Updates with a part of a message."""
ORCHESTRATOR = "fm_orchestrator"
DELEGATED = "delegated_agent"


def acknowledgement(provider: str, user_prompt: str) -> str:
    """Return the confirmation of a delegation."""
    return f"✓ Delegated to {provider}. Task: {user_prompt}"


def tool_call(job_id: str, provider: str, user_prompt: str, description: str) -> dict[str, Any]:
    """Return the update that shows a delegation as a tool call of the orchestrator."""
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
    """Return the update that ends the tool call. `detail` is the error message, or ""."""
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": job_id,
        "status": "completed" if completed else "failed",
    }
    if detail:
        update["rawOutput"] = {"detail": detail}
    return update


def mode_update(mode: str) -> dict[str, Any]:
    """Return the update that sets a session's agent mode."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def message(text: str) -> dict[str, Any]:
    """Return a message of the orchestrator. Its `_meta` distinguishes it from the agent's."""
    return {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text},
        "_meta": meta_of(ORCHESTRATOR, ""),
    }


def meta_of(source: str, provider: str) -> dict[str, str]:
    """Return the sender's `_meta`. The orchestrator's provider is always `foundation_models`."""
    return {"source": source, "provider": "foundation_models" if source == ORCHESTRATOR else provider}


def envelope(update: dict[str, Any], *, source: str, provider: str) -> dict[str, Any]:
    """Return the body of a `session.update` event."""
    return {"update": update, "source": source, "provider": provider, "_meta": meta_of(source, provider)}


def text_of(update: dict[str, Any]) -> str:
    """Return the text of an agent's message, or ""."""
    content = update.get("content")
    if update.get("sessionUpdate") != "agent_message_chunk" or not isinstance(content, dict):
        return ""
    text = content.get("text")
    return text if isinstance(text, str) else ""


def progress_of(update: dict[str, Any]) -> str:
    """Return a line about an agent's progress, or ""."""
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
