"""Size budgets. A size above its goal may only fall: lower `now` with every change that allows it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import msgspec
import pytest

from baton.cli.commands import COMMANDS
from baton.kernel.base.settings import Settings
from tests.support.server import until

ROOT = Path(__file__).parents[2]
DATA = {".py", ".tsv", ".yaml", ".yml", ".json", ".jsonl", ".txt", ".md", ".sh", ".toml"}
TRACER = """
import os, signal, sys
seen = set()
def note(frame, event, _):
    if event == "call":
        seen.add(frame.f_code.co_filename)
def begin(*_):
    seen.clear()
    sys.setprofile(note)
def end(*_):
    sys.setprofile(None)
    part = os.environ["TRACE"] + ".part"
    with open(part, "w") as out:
        out.write("\\n".join(name for name in seen if "/app/baton/" in name))
    os.replace(part, os.environ["TRACE"])
signal.signal(signal.SIGUSR1, begin)
signal.signal(signal.SIGUSR2, end)
"""
"""Notes the files whose functions run in the server between two signals."""


class Budget(msgspec.Struct):
    """A size: what it should be at most, and what it may be until then."""

    goal: int
    now: int = 0

    @property
    def most(self):
        return max(self.goal, self.now)


BUDGETS = {
    "lines of Python in app/baton": Budget(90_000),
    "modules in app/baton": Budget(650),
    "lines of Python and data in tests": Budget(80_000),
    "settings": Budget(70),
    "top-level commands": Budget(37),
    "files of a known call": Budget(29),
    "files of a new line": Budget(57),
}


def within(name, size):
    budget = BUDGETS[name]
    assert size <= budget.most, f"{size} {name}; at most {budget.most} (goal {budget.goal})"


def lines(paths):
    return sum(path.read_bytes().count(b"\n") for path in paths)


def test_the_page_of_the_architecture_states_the_budgets():
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = [f"| {name} | {one.goal:,} | {one.most:,} |" for name, one in BUDGETS.items()]
    assert [row for row in rows if row not in page] == []


def test_the_source_is_no_larger_than_its_budget():
    modules = list((ROOT / "app" / "baton").rglob("*.py"))
    within("modules in app/baton", len(modules))
    within("lines of Python in app/baton", lines(modules))


def test_the_tests_are_no_larger_than_their_budget():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    within("lines of Python and data in tests", lines(path for path in paths if path.suffix in DATA and path.is_file()))


def test_there_are_no_more_settings_and_commands_than_their_budget():
    within("settings", len(Settings.model_fields))
    within("top-level commands", len(COMMANDS))


@pytest.fixture
def traced(tmp_path):
    """Return a function that posts a shell line to a server and returns the files that it ran through."""
    (tmp_path / "sitecustomize.py").write_text(TRACER)
    out, home = tmp_path / "trace", tmp_path / "home"
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"BATON_HOME": str(home), "PORT": "0", "PYTHONPATH": str(tmp_path), "TRACE": str(out)}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "baton", "serve"], env=env, stdout=log, stderr=log)

    def url():
        try:
            found = json.loads((home / "server.json").read_text())["url"]
            return found if httpx2.get(f"{found}/readyz", trust_env=False).status_code == 200 else ""
        except (OSError, ValueError, httpx2.HTTPError):
            return ""

    with httpx2.Client(base_url=until(url), timeout=60, trust_env=False) as client:

        def trace(line):
            out.unlink(missing_ok=True)
            server.send_signal(signal.SIGUSR1)
            call = {"session_id": "trace", "tool_name": "Bash", "tool_input": {"command": line}}
            assert client.post("/pre-tool-use", json=call).json()["decision"] == "allow"
            server.send_signal(signal.SIGUSR2)
            return set(until(lambda: out.exists() and out.read_text()).splitlines())

        yield trace
    server.send_signal(signal.SIGINT)
    server.wait(60)


@pytest.mark.slow("traces a server")
def test_a_call_runs_through_no_more_files_than_its_budget(traced):
    traced("git status")
    traced("ls -la")
    # Of several calls, the one that no background task interrupts.
    within("files of a known call", min(len(traced("ls -la")) for _ in range(8)))
    lists = ("git log --oneline | head -5", "grep -rn x src | sort", "cat a.txt | wc -l")
    within("files of a new line", min(len(traced(line)) for line in lists))
