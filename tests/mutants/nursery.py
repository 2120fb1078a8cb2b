"""Runs pytest in forks of a process with imported libraries: importing takes longer than most tests.

Started in a copy of the repository by `run.py`. Reads one order a line, answers each with one line, both in JSON.
"""

import importlib
import json
import os
import sys
import tempfile

import psutil
import pytest

LIBRARIES = (
    "aiosqlite", "alembic.command", "asyncpg", "fastapi", "httpx2", "hypothesis", "mcp", "prometheus_client",
    "pydantic_settings", "redis.asyncio", "schemathesis", "slowapi", "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite", "sqlmodel.ext.asyncio.session", "sse_starlette", "tree_sitter_bash",
    "typer", "uvicorn", "uvloop",
)  # fmt: skip
"""What is left out is only slower. Nothing of Baton may be here: each fork must read the mutant."""


def run(tests: list[str], timeout_s: float) -> dict[str, object]:
    """Run tests up to the first failure; `status` is pytest's exit code, None after a time-out."""
    with tempfile.TemporaryFile("w+") as output:
        pid = os.fork()
        if pid == 0:
            _become_pytest(tests, output.fileno())
        process = psutil.Process(pid)
        try:
            status = process.wait(timeout_s)
        except psutil.TimeoutExpired:
            status = _kill(process)
        output.seek(0)
        return {"status": status, "output": output.read()}


def _become_pytest(tests: list[str], output: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the orders are not for tests
    os.dup2(output, 1)
    os.dup2(output, 2)
    loaded = "ignore::pytest.PytestAssertRewriteWarning"  # the libraries' pytest plugins are loaded: it says so
    status = pytest.main(["-x", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-W", loaded, *tests])
    sys.stdout.flush()
    os._exit(status)


def _kill(process: psutil.Process) -> None:
    """End tests that hang and the servers that they started, which have sessions of their own."""
    for one in [*process.children(recursive=True), process]:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


if __name__ == "__main__":
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(run(order["tests"], order["timeout_s"])), flush=True)
