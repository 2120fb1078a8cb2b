"""The options that say how a job is to be run, the same for every command that makes one."""

from datetime import timedelta
from typing import Annotated, Any

import typer

from baton.cli.options import UsageError, span_of
from baton.local.delegated import is_delegated

SECOND = timedelta(seconds=1)
_seconds = span_of(SECOND)
Workspace = Annotated[str, typer.Option(help="An alias that your runners know. Default: a runner's first one.")]
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
        help="Go on with the session's agent, begin anew, or go on with the agent of an ended job. Default: continue.",
    ),
]
Concurrent = Annotated[
    bool, typer.Option("--concurrent", help="Work in place although another job does in the same folder.")
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
    """Return the fields of a request for the options that were given.

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
