"""How log lines look: text, or JSON, each with the request's and the decision's id and without secrets.

Every module logs through the standard library; what an answer costs is two ids set aside, a line is written for trouble.
"""

import logging
import signal
import sys
from contextvars import ContextVar
from typing import Any, Literal

import structlog

from baton.engine.text.masking import WINDOW, mask_and_cut

request_id: ContextVar[str] = ContextVar("request_id", default="")
decision_id: ContextVar[str] = ContextVar("decision_id", default="")

log = logging.getLogger("baton")
_style: Literal["text", "json"] = "text"
_IDS = {"request_id": request_id, "decision_id": decision_id}


def ended(status: int | None) -> str:
    """Describe how a process ended, from its exit status as `subprocess` returns it."""
    if status is None:
        return "could not be started"
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in signal.valid_signals() else f"signal {-status}"
    return f"was killed by {name}" + (" (memory may be short: see the kernel's log)" if name == "SIGKILL" else "")


def notice(text: str) -> None:
    """Print a line on standard output for the person who started the server, or log it if the log is JSON."""
    if _style == "json":
        log.info(text)
    else:
        print(text, flush=True)  # noqa: T201 - for a person at a terminal


def problem(text: str) -> None:
    """Report a problem on standard error, otherwise like `notice`."""
    if _style == "json":
        log.error(text)
    else:
        print(f"baton: {text}", file=sys.stderr)  # noqa: T201 - for a person at a terminal


def configure(level: str, style: Literal["text", "json"]) -> None:
    """Write this process's log to standard error, from `level` on; uvicorn's and alembic's from warnings on."""
    global _style  # noqa: PLW0603 - a process has one log
    _style = style
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_ids,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _masked,
            structlog.processors.JSONRenderer() if style == "json" else _as_text,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Drivers would log each statement with the texts in it.
    for chatty in ("aiosqlite", "alembic", "asyncpg", "sqlalchemy", "uvicorn", "watchfiles"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))


def _with_ids(_logger: Any, _name: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for name, variable in _IDS.items():
        if value := variable.get():
            line[name] = value
    return line


def _masked(_logger: Any, _name: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {key: mask_and_cut(value, WINDOW) if isinstance(value, str) else value for key, value in line.items()}


def _as_text(_logger: Any, _name: str, line: structlog.typing.EventDict) -> str:
    ids = "".join(f" {name}={line[name]}" for name in _IDS if name in line)
    text = f"{line['timestamp']} {line['level'].upper()} {line['logger']}: {line['event']}{ids}"
    return f"{text}\n{line['exception']}" if "exception" in line else text
