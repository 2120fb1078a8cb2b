"""Prints the events of a delegated job: the orchestrator's words as they are, the agent's in a card."""

import re
import sys
from typing import Any

from baton.cli.jobs.arguments import moment
from baton.cli.output import plain
from baton.shared.providers import known_agent

_ENDS = {"completed": 0, "failed": 1, "skipped": 1, "cancelled": 130}
_KINDS = {"120000": " (symbolic link)", "160000": " (nested repository)", "100755": " (executable)"}
_BORDER = "│ "


def summary(change: dict[str, Any]) -> list[str]:
    """Return the lines about a job's changed files in its worktree."""
    lines = [
        f"{change['changed']} changed file{'' if change['changed'] == 1 else 's'}" + (":" if change["files"] else "")
    ]
    for file in change["files"]:
        counts = "binary" if file.get("added") is None else f"+{file['added']} -{file['deleted']}"
        lines.append(f"  {file['change']:<9} {plain(file['path'])}  {counts}{_KINDS.get(file['mode'], '')}")
    if change["changed"] > len(change["files"]):
        lines.append(f"  … and {change['changed'] - len(change['files'])} more")
    return [*lines, *(f"  left out: {plain(note)}" for note in change["notes"])]


def waiting_line(waiting: dict[str, Any]) -> str:
    """Return the line about why a job waits, since when, and when it fails."""
    until = f"; it fails at {moment(waiting['expires_at'])}" if waiting.get("expires_at") else ""
    return f"waiting since {moment(waiting['since'])}: {plain(waiting['detail'])}{until}"


class Card:
    """Prints events as they arrive. `status` is the exit status after the job's end, `queued` means waiting."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.queued = False
        self._reason = ""
        self._open = ""
        self._at_start = True
        self._disconnected = False
        self._waiting_for = ""

    def show(self, kind: str, data: dict[str, Any]) -> None:
        """Print one event."""
        match kind:
            case "session.update":
                self._update(data)
            case "permission.requested":
                request = data["request"]
                asked = request["title"] or f"{request['tool_name']} {request['tool_input']}"
                self._line(f"? asks for permission: {plain(asked)}")
                self._line(f"  baton approve {data['permission']}")
            case "permission.resolved":
                self._line(f"  {data['answer']} (by {data['by']}){': ' + data['reason'] if data.get('reason') else ''}")
            case "workspace.diff":
                self._change(data)
            case "job.state":
                self._state(data)

    def wait(self, waiting: dict[str, Any] | None) -> None:
        """Print why the job waits, unless already printed; None if a runner is about to take it."""
        reason = waiting["reason"] if waiting else ""
        if waiting and reason != self._reason:
            print(f"({waiting_line(waiting)})", flush=True)
        self._reason = reason

    def _update(self, data: dict[str, Any]) -> None:
        update = data["update"]
        text = (update.get("content") or {}).get("text", "") if isinstance(update.get("content"), dict) else ""
        if data["source"] == "fm_orchestrator":
            if text:
                self._close()
                print(text, flush=True)
            return
        self._head(data["provider"])
        if update.get("sessionUpdate") == "agent_message_chunk":
            self._text(text)
        elif update.get("sessionUpdate") == "tool_call":
            self._line(f"* {plain(str(update.get('title') or update.get('kind') or 'tool'))}")

    def _state(self, data: dict[str, Any]) -> None:
        state, since = data["state"], data.get("disconnected_since")
        self.queued = state == "queued"
        if since:
            self._close()
            print(f"(disconnected since {since}; the runner may come back)", flush=True)
        elif self._disconnected:
            print(f"(connected again, {state})", flush=True)
        self._disconnected = bool(since)
        waiting_for = data.get("waiting_for", "")
        if waiting_for and not self._waiting_for:
            self._close()
            print(f"(waiting for {waiting_for} on the runner's machine; nothing is lost)", flush=True)
        elif self._waiting_for and not waiting_for and state not in _ENDS:
            print("(goes on)", flush=True)
        self._waiting_for = waiting_for
        if state in {"pending_approval", "blocked"}:
            print(f"({state.replace('_', ' ')})", flush=True)
        elif state == "queued":
            self.status = None
        elif state in _ENDS:
            self._close()
            error = data.get("error")
            too_late = " before the cancel" if state == "completed" and data.get("cancel_requested") else ""
            print(state + too_late + (f": {plain(error['detail'])} ({error['code']})" if error else ""), flush=True)
            self.status = _ENDS[state]

    def _change(self, data: dict[str, Any]) -> None:
        try:
            lines = summary(data)
        except (KeyError, TypeError, AttributeError):  # a runner of another version words it otherwise
            return
        self._close()
        print("\n".join(lines), flush=True)
        if data["changed"]:
            print(f"  baton jobs diff {data['job']}    (or: apply, branch, pr, discard)", flush=True)

    def _head(self, provider: str) -> None:
        if self._open != provider:
            self._close()
            print(f"┌ → {known_agent(provider).title or provider}", flush=True)
            self._open, self._at_start = provider, True

    def _line(self, text: str) -> None:
        if not self._at_start:
            print()
        print(_BORDER + text, flush=True)
        self._at_start = True

    def _text(self, text: str) -> None:
        for part in re.findall(r".*\n|.+", text.replace("\r\n", "\n")):
            sys.stdout.write((_BORDER if self._at_start else "") + plain(part))
            self._at_start = part.endswith("\n")
        sys.stdout.flush()

    def _close(self) -> None:
        if self._open:
            print("" if self._at_start else "\n", end="")
            print("└", flush=True)
        self._open, self._at_start = "", True
