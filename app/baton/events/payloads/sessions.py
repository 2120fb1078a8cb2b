"""Payloads about sessions, prompts and the agents' states."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.events.payloads.base import Count, Payload, Ratio

LONGEST_PROMPT = 65_536
"""Characters of a whole prompt that are sent, on the restricted topic."""
LONGEST_PREVIEW = 100
"""Characters of a prompt's preview."""


class SessionStarted(Payload, frozen=True, kw_only=True):
    """A session of a client started; `hook_source` is why: startup, resume, clear, compact, fork."""

    working_directory: str = ""
    git_branch: str = ""
    hook_source: str = ""
    client: str = ""
    project: str = ""


class SessionEnded(Payload, frozen=True, kw_only=True):
    """A session ended. The duration is absent, and the count 0, where the session's start was not seen."""

    reason: str = ""
    duration_seconds: Annotated[float, msgspec.Meta(ge=0)] | UnsetType = UNSET
    tools_used_count: Count = 0
    client: str = ""


class SessionOutcome(Payload, frozen=True, kw_only=True):
    """How a session went, judged by its tool calls.

    `abandoned` had none, `failed` ended with one that failed, `success` with one that ran; `unknown` is a session whose
    start was not seen.
    """

    outcome: Literal["success", "failed", "abandoned", "unknown"]
    tools_used_count: Count = 0
    tools_failed_count: Count = 0


class SessionOutcomeCommand(SessionOutcome, frozen=True, kw_only=True):
    """The same as `session-outcome`, as a command to the systems that learn from it."""


class PromptSubmitted(Payload, frozen=True, kw_only=True):
    """A person sent a prompt. The preview is masked and then cut to 97 characters and `...`; the length is in characters."""

    entity_id: str = ""
    causation_id: str = ""
    emitted_at: datetime
    prompt_id: str
    prompt_preview: Annotated[str, msgspec.Meta(max_length=LONGEST_PREVIEW)]
    prompt_length: Count
    detected_intent: str = ""
    client: str = ""


class ClaudeHookEvent(Payload, frozen=True, kw_only=True):
    """The whole prompt, with secrets masked, of teams that keep prompts; of a long one the first 65,536 characters."""

    hook_event_name: str = "UserPromptSubmit"
    emitted_at: datetime
    prompt_id: str
    prompt: str
    prompt_length: Count
    truncated: bool = False
    client: str = ""


class NotificationBlocked(Payload, frozen=True, kw_only=True):
    """An agent waits for a person."""

    agent_name: str = ""
    tool_name: str = ""
    reason: str = ""


class NotificationCompleted(Payload, frozen=True, kw_only=True):
    """An agent's turn ended: it waits for the next prompt."""

    agent_name: str = ""


class AgentStatus(Payload, frozen=True, kw_only=True):
    """What a delegated agent is doing now. `progress` is from 0 to 1, absent where it is not known."""

    agent_name: str = ""
    state: str
    progress: Ratio | UnsetType = UNSET
    current_phase: str = ""
    current_task: str = ""
    blocking_reason: str = ""


class StaticContextEditDetected(Payload, frozen=True, kw_only=True):
    """An agent edited what every session reads: CLAUDE.md, AGENTS.md and the like.

    Whether the files are under version control, and the statistics of their change, are known to the client's machine
    alone: they are absent and "" unless it tells.
    """

    changed_files: tuple[str, ...]
    is_versioned: bool | UnsetType = UNSET
    git_diff_stat: str = ""
