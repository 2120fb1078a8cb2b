"""Checks a new job's specification, before it is stored."""

from hashlib import sha256

import msgspec

from baton.delegate.core.job import JobSpec
from baton.delegate.core.protocol import PROVIDERS, near_provider, provider_of
from baton.engine.text.masking import mask
from baton.kernel.base.errors import Invalid
from baton.kernel.base.sql import storable

LONGEST_PROMPT = 131_072
"""Most characters of a prompt, and of a system prompt."""
LONGEST_TEXT = 1_024
MOST_DEPENDENCIES = 50
LONGEST_S = 86_400
"""Longest `timeout_s`: a day."""
MOST_ATTEMPTS = 5
LONGEST_KEY = 200
"""Most characters of an idempotency key."""
_FREE_TEXTS = ("prompt", "system_prompt", "description")


def checked(new: JobSpec) -> JobSpec:
    """Return a valid specification, with the provider's own name, and texts that may be stored: secrets are masked.

    Raises:
        Invalid: If a field is not valid; the error names the field and what is allowed.
    """
    if not new.prompt.strip():
        raise Invalid("user_prompt", "is blank")
    for field, value, most in (
        ("user_prompt", new.prompt, LONGEST_PROMPT),
        ("system_prompt", new.system_prompt, LONGEST_PROMPT),
        ("description", new.description, LONGEST_TEXT),
        ("session_id", new.session_id, LONGEST_TEXT),
        ("workspace", new.workspace, LONGEST_TEXT),
        ("model", new.model, LONGEST_TEXT),
    ):
        if len(value) > most:
            raise Invalid(field, f"has {len(value)} characters; at most {most} are allowed")
    provider = provider_of(new.provider)
    if provider is None:
        near = near_provider(new.provider)
        hint = f"; did you mean `{near}`?" if near else ""
        raise Invalid("provider", f"is `{new.provider[:100]}`, which is not an agent{hint}", list(PROVIDERS))
    _one_of("approval", new.approval, ["none", "ask"])
    _one_of("isolation", new.isolation, ["in_place", "worktree"])
    _within("timeout_s", new.timeout_s, 1, LONGEST_S)
    _within("max_attempts", new.max_attempts, 1, MOST_ATTEMPTS)
    if new.max_attempts > 1 and new.isolation != "worktree":
        raise Invalid("max_attempts", "is above 1, which needs `isolation: worktree`", ["1"])
    if len(new.depends_on) > MOST_DEPENDENCIES:
        raise Invalid("depends_on", f"names {len(new.depends_on)} jobs; at most {MOST_DEPENDENCIES} are allowed")
    texts = {name: storable(value) for name, value in msgspec.structs.asdict(new).items() if isinstance(value, str)}
    texts |= {name: mask(texts[name]) for name in _FREE_TEXTS}
    return msgspec.structs.replace(
        new, **(texts | {"provider": provider, "depends_on": tuple(dict.fromkeys(new.depends_on))})
    )


def digest_of(new: JobSpec) -> str:
    """Return the SHA-256 that tells whether two requests with one idempotency key ask for the same job."""
    return sha256(msgspec.json.encode(new)).hexdigest()


def _one_of(field: str, value: str, allowed: list[str]) -> None:
    if value not in allowed:
        raise Invalid(field, f"is `{value[:100]}`", allowed)


def _within(field: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise Invalid(field, f"is {value}; it must be from {least} to {most}")
