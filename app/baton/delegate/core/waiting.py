"""Why and since when a queued job waits, and its expiry. Computed from the runners, never stored."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from baton.delegate.core.job import Job, Runner
from baton.rules.call.modes import Freeze

ALIVE = timedelta(seconds=60)  # maximum silence of a live runner; it polls every 20 s
Reason = Literal["no_runner", "runner_offline", "not_served", "slots_busy", "folder_busy", "frozen"]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Why a queued job waits.

    `no_runner`: none is known; `runner_offline`: no suitable one is connected; `not_served`: none is suitable;
    `slots_busy`: no free slot; `folder_busy`: another job works in place in its folder; `frozen`: no agent of its user,
    team, project or session starts. The first three fail the job at `expires_at`, if present.
    """

    reason: Reason
    detail: str
    since: datetime
    expires_at: datetime | None = None


class FolderUse(msgspec.Struct, frozen=True, kw_only=True):
    """A job in place in a folder, its graph or "", and its start."""

    job_id: str
    user: str
    graph_id: str
    folder: str
    started_at: datetime | None


def overlaps(folder: str, other: str) -> bool:
    """Return whether two folders are equal or nested. "" has no name and overlaps nothing (`Runner.folders`)."""
    return folder != "" and other != "" and (folder.startswith(other) or other.startswith(folder))


def folder_of(runner: Runner, workspace: str) -> str:
    """Return the folder name of a runner's workspace, or "". The workspace "" is the runner's first one."""
    return runner.folders.get(workspace or next(iter(runner.workspaces), ""), "")


def may_take(runner: Runner, job: Job) -> bool:
    """Return whether a runner takes jobs of this job's owner. `runners_store` has the same condition in SQL."""
    return runner.user == job.user or (runner.shared and runner.team != "" and runner.team == job.team)


def serves(runner: Runner, job: Job) -> bool:
    """Return whether a permitted runner can run a job."""
    pinned = job.thread_runner and (runner.id, runner.user) != (job.thread_runner, job.thread_user)
    return not pinned and job.provider in runner.providers and job.workspace in {"", *runner.workspaces}


def is_live(runner: Runner, now: datetime) -> bool:
    """Return whether a runner is live. A runner about to stop has neither slots nor jobs."""
    return now - runner.last_seen < ALIVE and (runner.slots > 0 or runner.active > 0)


def expiry_of(job: Job, runners: Iterable[Runner]) -> datetime | None:
    """Return a queued job's expiry, or None. Only time without a suitable live runner counts."""
    if job.expires_at is None:
        return None
    heard = (one.last_seen for one in runners if may_take(one, job) and serves(one, job))
    return max([job.expires_at, *(moment + timedelta(seconds=job.queue_expiry_s) for moment in heard)])


def waiting_of(job: Job, runners: Sequence[Runner], busy: Iterable[FolderUse], now: datetime) -> Waiting | None:
    """Return why a job waits; None if it is not queued, or about to be leased."""
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
            f"no runner for {_wanted(job)} is connected; `{latest.name or latest.id}` was last seen at"
            f" {latest.last_seen:%Y-%m-%d %H:%M:%S} UTC. Start it there with `baton runner run`"
        )
        since = max(queued, latest.last_seen)
        return Waiting(reason="runner_offline", detail=detail, since=since, expires_at=expires_at)
    if job.thread_runner:
        detail = (
            f"the thread of job `{job.thread}` is on runner `{job.thread_runner}`, but it no longer serves this agent"
        )
        return Waiting(reason="not_served", detail=detail, since=queued, expires_at=expires_at)
    if usable:
        detail = f"no runner for {_wanted(job)} is connected: none serves it; served: {served(usable)}"
        return Waiting(reason="not_served", detail=detail, since=queued, expires_at=expires_at)
    detail = (
        f"no runner for {_wanted(job)} is connected, and no suitable runner is known; start one with `baton runner run`"
        " (`baton runner init` prepares it)"
    )
    return Waiting(reason="no_runner", detail=detail, since=queued, expires_at=expires_at)


def frozen(freeze: Freeze, queued: datetime) -> Waiting:
    """Return the wait for the end of a freeze."""
    whose = f"{freeze.scope} {freeze.id}".strip()
    detail = f"`{freeze.set_by}` has frozen {whose}: {freeze.reason}"
    return Waiting(reason="frozen", detail=detail, since=max(queued, freeze.set_at or queued))


def served(runners: Iterable[Runner]) -> str:
    """Describe the providers and workspaces of runners."""
    return "; ".join(
        f"`{one.name or one.id}`: {', '.join(one.providers) or 'no provider'} in {', '.join(one.workspaces) or 'no workspace'}"
        for one in runners
    )


def _behind(job: Job, live: Sequence[Runner], busy: Iterable[FolderUse], queued: datetime) -> Waiting | None:
    free = [one for one in live if one.slots > 0]
    if not free:
        names = ", ".join(f"`{one.name or one.id}`" for one in live)
        detail = f"all slots of {names} are busy ({sum(one.active for one in live)} jobs)"
        return Waiting(reason="slots_busy", detail=detail, since=queued)
    if job.isolation != "in_place" or job.concurrent:
        return None
    # Parallel tasks of one graph may share a folder.
    uses = [use for use in busy if not job.graph_id or use.graph_id != job.graph_id]
    holder: FolderUse | None = None
    for runner in free:
        folder = folder_of(runner, job.workspace)
        holder = next((use for use in uses if overlaps(use.folder, folder)), None)
        if holder is None:
            return None
    assert holder is not None  # noqa: S101 - every free runner has one here
    whose = f"job `{holder.job_id}`" if holder.user == job.user else "a job of somebody else"
    detail = f"{whose} works in the same folder; pass `concurrent` to work at the same time, or `isolation: worktree`"
    return Waiting(reason="folder_busy", detail=detail, since=max(queued, holder.started_at or queued))


def _wanted(job: Job) -> str:
    return f"{job.provider} in {job.workspace}" if job.workspace else job.provider
