"""What the runner itself adds to a job's stream, beside what the agent says."""

from baton.runner.worktrees.results import shown
from baton.runner.worktrees.worktrees import Change

MOST_FILES = 100
"""Most changed files that a job's summary names; it counts them all."""
_LONGEST_NAME = 200


def ended_setup(output: str, *, failed: bool) -> dict[str, object]:
    """Return the update that ends the setup of a worktree, with what it printed."""
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "setup",
        "status": "failed" if failed else "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": output}}],
    }


def summary(change: Change) -> dict[str, object]:
    """Return the summary of a change as the server stores it."""
    files = [
        {
            "path": shown(file.path)[:_LONGEST_NAME],
            "change": file.change,
            "added": file.added,
            "deleted": file.deleted,
            "mode": file.mode,
        }
        for file in change.files[:MOST_FILES]
    ]
    return {
        "diff": change.diff,
        "truncated": change.truncated,
        "changed": len(change.files),
        "files": files,
        "notes": change.notes,
    }
