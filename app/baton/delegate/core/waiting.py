"""Why a queued job waits, since when, and until when it may: computed from its runners, never stored."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from baton.delegate.core.job import Job
from baton.delegate.core.runner import Runner

ALIVE = timedelta(seconds=60)
"""A runner that was not heard of for so long counts as gone; it polls every 20 s."""
Reason = Literal["no_runner", "runner_offline", "not_served", "slots_busy", "folder_busy"]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Why a queued job waits: a stable code, a text for people, since when, and when it fails, None for never."""

    reason: Reason
    detail: str
    since: datetime
    expires_at: datetime | None = None


class FolderUse(msgspec.Struct, frozen=True, kw_only=True):
    """A job that works in place in a folder, of which graph ("" for none), and since when."""

    job_id: str
    user: str
    graph_id: str
    folder: str
    started_at: datetime | None


def overlaps(folder: str, other: str) -> bool:
    """Return whether two folders are one, or one lies in the other; "" is the name of none (`Runner.folders`)."""
    return folder != "" and other != "" and (folder.startswith(other) or other.startswith(folder))


def folder_of(runner: Runner, workspace: str) -> str:
    """Return the name of a workspace's folder on a runner; "" is the runner's first workspace, or a folder without name."""
    return runner.folders.get(workspace or next(iter(runner.workspaces), ""), "")


def may_take(runner: Runner, job: Job) -> bool:
    """Return whether a runner takes jobs of this job's owner: `runners_store` asks the same in SQL."""
    return runner.user == job.user or (runner.shared and runner.team != "" and runner.team == job.team)


def serves(runner: Runner, job: Job) -> bool:
    """Return whether a runner that may take a job is able to run it."""
    pinned = job.thread_runner and (runner.id, runner.user) != (job.thread_runner, job.thread_user)
    return not pinned and job.provider in runner.providers and job.workspace in {"", *runner.workspaces}


def is_live(runner: Runner, now: datetime) -> bool:
    """Return whether a runner was heard of lately, and was not about to stop: then it has neither slots nor jobs."""
    return now - runner.last_seen < ALIVE and (runner.slots > 0 or runner.active > 0)


def expiry_of(job: Job, runners: Iterable[Runner]) -> datetime | None:
    """Return when a queued job fails; None for never.

    The time counts in which no live runner could take it: a job behind others at a busy runner waits as long as it must.
    """
    if job.expires_at is None:
        return None
    heard = (one.last_seen for one in runners if may_take(one, job) and serves(one, job))
    return max([job.expires_at, *(moment + timedelta(seconds=job.queue_expiry_s) for moment in heard)])


def waiting_of(job: Job, runners: Sequence[Runner], busy: Iterable[FolderUse], now: datetime) -> Waiting | None:
    """Return why a job waits; None if it is not queued, or a runner is about to take it."""
    if job.state != "queued":
        return None
    queued = job.queued_at or job.created_at
    usable = [one for one in runners if may_take(one, job)]
    able = [one for one in usable if serves(one, job)]
    live = [one for one in able if is_live(one, now)]
    if live:
        return _behind(job, live, busy, queued)
    expires_at = expiry_of(job, runners)
    if able:
        latest = max(able, key=lambda one: one.last_seen)
        detail = (
            f"no runner that serves `{_wanted(job)}` is connected; `{latest.name or latest.id}` was last heard of at"
            f" {_clock(latest.last_seen)}. Start it there with `baton runner run`"
        )
        since = max(queued, latest.last_seen)
        return Waiting(reason="runner_offline", detail=detail, since=since, expires_at=expires_at)
    if job.thread_runner:
        detail = f"the thread of job `{job.thread}` is on runner `{job.thread_runner}`, which no longer serves it"
        return Waiting(reason="not_served", detail=detail, since=queued, expires_at=expires_at)
    if usable:
        detail = f"no runner serves `{_wanted(job)}`; served: {served(usable)}"
        return Waiting(reason="not_served", detail=detail, since=queued, expires_at=expires_at)
    detail = "no runner is known that takes it; start one with `baton runner run` (`baton runner init` prepares it)"
    return Waiting(reason="no_runner", detail=detail, since=queued, expires_at=expires_at)


def served(runners: Iterable[Runner]) -> str:
    """Return what runners serve, in words."""
    return "; ".join(
        f"`{one.name or one.id}`: {', '.join(one.providers) or 'no provider'} in {', '.join(one.workspaces) or 'no workspace'}"
        for one in runners
    )


def _behind(job: Job, live: Sequence[Runner], busy: Iterable[FolderUse], queued: datetime) -> Waiting | None:
    """Return what a job waits for whose runners are there."""
    free = [one for one in live if one.slots > 0]
    if not free:
        names = ", ".join(f"`{one.name or one.id}`" for one in live)
        detail = f"all slots of {names} are busy ({sum(one.active for one in live)} jobs)"
        return Waiting(reason="slots_busy", detail=detail, since=queued)
    if job.isolation != "in_place" or job.concurrent:
        return None
    # Tasks of one graph that may start at one time are meant to run at one time.
    uses = [use for use in busy if not job.graph_id or use.graph_id != job.graph_id]
    holder: FolderUse | None = None
    for runner in free:
        folder = folder_of(runner, job.workspace)
        holder = next((use for use in uses if overlaps(use.folder, folder)), None)
        if holder is None:
            return None
    assert holder is not None  # noqa: S101 - there is a free runner, and each of them has one
    whose = f"job `{holder.job_id}`" if holder.user == job.user else "a job of somebody else"
    detail = f"{whose} works in the same folder; pass `concurrent` to work beside it, or `isolation: worktree`"
    return Waiting(reason="folder_busy", detail=detail, since=max(queued, holder.started_at or queued))


def _wanted(job: Job) -> str:
    return f"{job.provider} in {job.workspace}" if job.workspace else job.provider


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
