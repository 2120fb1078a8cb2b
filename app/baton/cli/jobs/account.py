"""What a job's card says of its times, its costs, its runner and its attempts."""

from datetime import datetime
from typing import Any


def standing(job: dict[str, Any]) -> str:
    """Return what is to be said of how a job stands, beyond its state; "" for nothing."""
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
