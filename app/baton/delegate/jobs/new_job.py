"""Validates a new job's specification and fills in the server's defaults."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from baton.delegate.core.job import CONTINUE, FRESH, Job, JobSpec, Runner
from baton.delegate.core.waiting import served
from baton.kernel.base.errors import Invalid
from baton.lib.text.masking import mask
from baton.shared.providers import ACP_AGENTS, PROVIDERS, near_provider, provider_name
from baton.shared.storable import storable

LONGEST_PROMPT = 131_072  # maximum length of a prompt and of a system prompt, in characters
LONGEST_TEXT = 1_024
MOST_DEPENDENCIES = 50
LONGEST_S = 86_400  # maximum `timeout_s`: a day
LONGEST_EXPIRY_S = 2_592_000  # maximum `queue_expiry_s`: thirty days
MOST_ATTEMPTS = 5
LONGEST_KEY = 200  # maximum length of an idempotency key, in characters
_FREE_TEXTS = ("prompt", "system_prompt", "description")


class JobDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The server's default timeouts of jobs, in seconds. 0 means no limit, except for `timeout_s`."""

    timeout_s: int
    inactivity_timeout_s: int
    queue_expiry_s: int

    def fill(self, new: JobSpec) -> dict[str, int]:
        """Return the timeouts of a job."""
        given = {name: getattr(new, name) for name in self.__struct_fields__}
        return {name: getattr(self, name) if value is None else value for name, value in given.items()}


def checked(new: JobSpec) -> JobSpec:
    """Return a validated specification, with canonical provider and masked secrets. Raise Invalid."""
    if not new.prompt.strip():
        raise Invalid("user_prompt", "is blank")
    for field, value, most in (
        ("user_prompt", new.prompt, LONGEST_PROMPT),
        ("system_prompt", new.system_prompt, LONGEST_PROMPT),
        ("description", new.description, LONGEST_TEXT),
        ("session_id", new.session_id, LONGEST_TEXT),
        ("workspace", new.workspace, LONGEST_TEXT),
        ("model", new.model, LONGEST_TEXT),
        ("thread", new.thread, LONGEST_TEXT),
    ):
        if len(value) > most:
            raise Invalid(field, f"has {len(value)} characters; at most {most} are allowed")
    continues = new.thread not in {CONTINUE, FRESH}
    # A continued job provides the default provider.
    provider = "" if continues and not new.provider else provider_name(new.provider or PROVIDERS[0])
    if provider is None:
        raise Invalid("provider", f"is `{new.provider[:100]}`, not a valid agent name", list(PROVIDERS))
    _one_of("approval", new.approval, ["none", "ask"])
    _one_of("isolation", new.isolation, ["in_place", "worktree"])
    if not new.thread:
        raise Invalid("thread", "is blank", [CONTINUE, FRESH, "the id of an ended job"])
    _within("timeout_s", new.timeout_s, 1, LONGEST_S)
    _within("inactivity_timeout_s", new.inactivity_timeout_s, 0, LONGEST_S)
    _within("queue_expiry_s", new.queue_expiry_s, 0, LONGEST_EXPIRY_S)
    _within("max_attempts", new.max_attempts, 1, MOST_ATTEMPTS)
    if new.max_attempts > 1 and new.isolation != "worktree":
        raise Invalid("max_attempts", "is above 1: this requires `isolation: worktree`", ["1"])
    if len(new.depends_on) > MOST_DEPENDENCIES:
        raise Invalid("depends_on", f"names {len(new.depends_on)} jobs; at most {MOST_DEPENDENCIES} are allowed")
    texts = {name: storable(value) for name, value in msgspec.structs.asdict(new).items() if isinstance(value, str)}
    texts |= {name: mask(texts[name]) for name in _FREE_TEXTS}
    return msgspec.structs.replace(
        new, **(texts | {"provider": provider, "depends_on": tuple(dict.fromkeys(new.depends_on))})
    )


def check_served(new: JobSpec, usable: Sequence[Runner], before: Job | None) -> None:
    """Refuse a job that no permitted runner serves, according to their last polls. Raise Invalid.

    Disconnected runners count: they may come back. Without any runner, every known agent is accepted, since a runner
    may start later. A thread continues only on the runner of the job `before`.
    """
    if before is not None:
        there = [one for one in usable if (one.user, one.id) == (before.runner_user, before.runner_id)]
        if not any(new.provider in one.providers and new.workspace in {"", *one.workspaces} for one in there):
            said = f"is `{before.id}`, whose runner `{before.runner_id}` " + (
                f"serves it no longer ({served(there)})" if there else "is not known any more"
            )
            raise Invalid("thread", said, [CONTINUE, FRESH])
        return
    providers = sorted({name for one in usable for name in one.providers})
    near = near_provider(new.provider, providers)
    hint = f"; did you mean `{near}`?" if near and new.provider not in {*ACP_AGENTS, *providers} else ""
    if not usable:
        if new.provider not in ACP_AGENTS:
            said = f"is `{new.provider}`, an unknown agent; start a runner for it{hint}"
            raise Invalid("provider", said, list(PROVIDERS))
        return
    if new.provider not in providers:
        said = f"is `{new.provider}`, not served by your runners ({served(usable)}){hint}"
        raise Invalid("provider", said, providers)
    # Check the workspace before the agent, so that the error names the more precise mistake.
    aliases = {alias for one in usable for alias in one.workspaces}
    if new.workspace and new.workspace not in aliases:
        raise Invalid("workspace", f"is `{new.workspace[:100]}`, unknown to your runners", sorted(aliases))
    fitting = {alias for one in usable if new.provider in one.providers for alias in one.workspaces}
    if new.workspace and new.workspace not in fitting:
        said = f"is `{new.workspace[:100]}`, but none of your runners there serves `{new.provider}` ({served(usable)})"
        raise Invalid("workspace", said, sorted(fitting))


def digest_of(new: JobSpec) -> str:
    """Return a SHA-256 to compare requests with one idempotency key."""
    return sha256(msgspec.json.encode(new)).hexdigest()


def _one_of(field: str, value: str, allowed: list[str]) -> None:
    if value not in allowed:
        raise Invalid(field, f"is `{value[:100]}`", allowed)


def _within(field: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise Invalid(field, f"is {value}; it must be from {least} to {most}")
