"""The shared options of all commands creating a job."""

from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from baton.cli.options import UsageError, span_of
from baton.local.config import is_delegated

SECOND = timedelta(seconds=1)
_seconds = span_of(SECOND)
Workspace = Annotated[str, typer.Option(help="An alias known to your runners. Default: a runner's first alias.")]
Isolation = Annotated[
    str, typer.Option(metavar="in_place|worktree", help="`worktree` works on a copy. Default: in_place.")
]
Worktree = Annotated[bool, typer.Option("--worktree", help="The same as `--isolation worktree`.")]
Timeout = Annotated[
    timedelta | None,
    typer.Option(parser=_seconds, metavar="SPAN", help="How long the agent may take: 90s, 5m. Default: the server's."),
]
Inactivity = Annotated[
    timedelta | None,
    typer.Option(
        parser=_seconds,
        metavar="SPAN",
        help="How long the agent may show nothing; 0 for no limit. Default: the server's.",
    ),
]
Thread = Annotated[
    str,
    typer.Option(
        metavar="continue|fresh|JOB",
        help="Continue with the session's agent, start a fresh one, or continue with the agent of an ended job. Default: continue.",
    ),
]
Concurrent = Annotated[
    bool, typer.Option("--concurrent", help="Work in place even if another job works in the same folder.")
]
QueueExpiry = Annotated[
    timedelta | None,
    typer.Option(
        parser=_seconds,
        metavar="SPAN",
        help="How long it may wait without a live runner; 0 for no limit. Default: the server's.",
    ),
]


def arguments(
    *,
    workspace: str,
    isolation: str,
    timeout: timedelta | None,
    inactivity_timeout: timedelta | None,
    thread: str,
    concurrent: bool,
    queue_expiry: timedelta | None,
    worktree: bool = False,
) -> dict[str, Any]:
    """Return the fields of a request for the given options.

    Raises:
        UsageError: If options contradict each other, or a time is not whole seconds.
    """
    if worktree and isolation not in {"", "worktree"}:
        raise UsageError(f"`--worktree` and `--isolation {isolation}` contradict each other")
    given = {
        "workspace": workspace,
        "isolation": "worktree" if worktree else isolation,
        "timeout_s": _whole("--timeout", timeout),
        "inactivity_timeout_s": _whole("--inactivity-timeout", inactivity_timeout),
        "thread": thread,
        "concurrent": concurrent or is_delegated() or None,
        "queue_expiry_s": _whole("--queue-expiry", queue_expiry),
    }
    return {name: value for name, value in given.items() if value not in ("", None)}


def _whole(option: str, span: timedelta | None) -> int | None:
    if span is None:
        return None
    if span % SECOND:
        raise UsageError(f"`{option}` is whole seconds; give a span such as `90s`")
    return span // SECOND


# A job card's lines about times, costs, runner and attempts.


def standing(job: dict[str, Any]) -> str:
    """Return a job's status apart from its state; "" for nothing."""
    if since := job.get("disconnected_since"):
        return f"disconnected since {since}"
    if waiting := job.get("waiting"):
        return str(waiting["detail"])
    if waiting_for := job.get("waiting_for"):
        return f"waiting for {waiting_for} since {job['waiting_since']}"
    return "completed before the cancel" if job["state"] == "completed" and job["cancel_requested"] else ""


def lines(job: dict[str, Any]) -> list[str]:
    """Return the lines of the card: moments, runner, usage, and the attempts if there were several."""
    moments = {"created": "created_at", "queued": "queued_at", "started": "started_at", "ended": "ended_at"}
    times = [f"{word} {moment(job[name])}" for word, name in moments.items() if job.get(name)]
    if took := _took(job.get("started_at"), job.get("ended_at")):
        times.append(f"took {took}")
    found = [", ".join(times)]
    if runner := job.get("runner"):
        found.append(f"runner {runner['id']} of {runner['user']}")
    found.append(f"{used(job['usage'])}, {job['events']} events")
    attempts = job.get("attempts", [])
    return found + ([_attempt(one) for one in attempts] if len(attempts) > 1 else [])


def used(usage: dict[str, Any]) -> str:
    """Return tokens and cost in words."""
    cached = f" ({usage['cached_tokens']} from the cache)" if usage.get("cached_tokens") else ""
    cost = usage.get("cost_usd")
    said = f", {cost:.4f} USD" if cost is not None else ""
    return f"{usage['input_tokens']} tokens in{cached}, {usage['output_tokens']} out{said}"


def _attempt(one: dict[str, Any]) -> str:
    parts = [(one["state"] or "under way") + (f" ({one['error_code']})" if one["error_code"] else "")]
    if one.get("began_at"):
        parts.append(f"began {moment(one['began_at'])}")
    if took := _took(one.get("began_at"), one.get("ended_at")):
        parts.append(f"took {took}")
    return f"attempt {one['attempt']} on {one['runner'] or '-'}: {', '.join((*parts, used(one)))}"


def moment(text: str) -> str:
    """Return a moment in the person's own time."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


def _took(began: str | None, ended: str | None) -> str:
    if not began or not ended:
        return ""
    seconds = int((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())
    minutes, seconds = divmod(max(seconds, 0), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
