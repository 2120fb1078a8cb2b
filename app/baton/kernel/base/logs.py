"""Log lines as text or JSON, with the ids of request and decision, and without secrets."""

import json
import logging
import signal
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

from baton.lib.text.masking import WINDOW, mask_and_cut
from baton.lib.text.visible import visible

request_id: ContextVar[str] = ContextVar("request_id", default="")
decision_id: ContextVar[str] = ContextVar("decision_id", default="")

log = logging.getLogger("baton")
_style: Literal["text", "json"] = "text"
_IDS = {"request_id": request_id, "decision_id": decision_id}


def ended(status: int | None) -> str:
    """Describe how a process ended, from `subprocess`'s exit status."""
    if status is None:
        return "could not be started"
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in signal.valid_signals() else f"signal {-status}"
    return f"was killed by {name}" + (" (memory may be short: see the kernel's log)" if name == "SIGKILL" else "")


def notice(text: str) -> None:
    """Print a line for the operator on standard output, or log it if the log is JSON."""
    if _style == "json":
        log.info(text)
    else:
        print(text, flush=True)  # noqa: T201 - for a person at a terminal


def problem(text: str) -> None:
    """Report a problem on standard error, or log it if the log is JSON."""
    if _style == "json":
        log.error(text)
    else:
        print(f"baton: {text}", file=sys.stderr)  # noqa: T201 - for a person at a terminal


def configure(level: str, style: Literal["text", "json"]) -> None:
    """Log to standard error, from `level` on; chatty libraries from warnings on."""
    global _style  # noqa: PLW0603 - a process has one log
    _style = style
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line(style))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Drivers would log each statement with its values, and HTTP clients each URL, which may have a webhook's secret.
    for chatty in ("aiosqlite", "alembic", "asyncpg", "httpcore2", "httpx2", "sqlalchemy", "uvicorn", "watchfiles"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))


class _Line(logging.Formatter):
    """Formats a record as one line of text or a JSON object, without secrets. A traceback follows the text."""

    def __init__(self, style: Literal["text", "json"]) -> None:
        super().__init__()
        self._as_json = style == "json"

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        ids = {name: value for name, variable in _IDS.items() if (value := variable.get())}
        line |= ids
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        line = {key: mask_and_cut(value, WINDOW) for key, value in line.items()}
        if self._as_json:
            return json.dumps(line)
        line = {key: visible(value) for key, value in line.items()}
        event = line["event"].replace("\n", "\n  ")  # a message must not imitate another log line
        text = f"{line['timestamp']} {line['level'].upper()} {line['logger']}: {event}"
        text += "".join(f" {name}={line[name]}" for name in ids)
        return f"{text}\n{line['exception']}" if "exception" in line else text
