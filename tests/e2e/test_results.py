"""Worktree changes of the real Codex and Claude Code: shown, applied, and continued by a reply."""

import json
import subprocess
import threading
import time
from collections.abc import Callable

import pytest

from tests.e2e.laptop import LIMIT_S, Laptop
from tests.e2e.model_endpoint import Use
from tests.e2e.test_runner import PROVIDERS, Laptops, laptop

__all__ = ["laptop"]
pytestmark = pytest.mark.e2e


def git(here: Laptop, *arguments: str) -> str:
    names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *names, *arguments], cwd=here.project, check=True, capture_output=True, text=True)
    return done.stdout


def patch(provider: str, file: str, text: str) -> Use:
    """A change that the agent makes in its own folder, without asking."""
    if provider == "claude_code":
        return Use("Bash", {"command": f"printf '{text}\\n' > {file}", "description": "a change"})
    script = {"cmd": f"printf '{text}\\n' > {file}"}
    return Use("exec", f"text(await tools.exec_command({json.dumps(script)}))")


def allowed_once(here: Laptop, job: str) -> dict[str, object]:
    """Let the agent do what it asks for now. Return the job."""
    one = here.call("GET", f"/jobs/{job}")
    if one["state"] == "awaiting_permission":
        for asked in here.call("GET", f"/approvals?job={job}")["items"]:
            if asked["state"] == "waiting":
                here.call("POST", f"/approvals/{asked['id']}", answer="allow")
    return dict(one)


def allowed(here: Laptop, job: str) -> dict[str, object]:
    """Let the agent do what it asks for, until it has ended."""
    over = {"completed", "failed", "cancelled"}
    return dict(here.until(lambda: (one := allowed_once(here, job))["state"] in over and one))


def repository(here: Laptop) -> None:
    (here.project / "cart.py").write_text("total = 0\n")
    git(here, "init", "-q")
    git(here, "add", ".")
    git(here, "commit", "-qm", "one")


def acted(here: Laptop, job: str, verb: str, **body: object) -> dict[str, object]:
    found = here.call("POST", f"/jobs/{job}/{verb}", wait_s=8, **body)
    path = f"/jobs/{job}/actions/{found['id']}"
    return dict(here.until(lambda: (one := here.call("GET", path))["state"] not in {"asked", "taken"} and one))


@PROVIDERS
def test_changes_are_shown_applied_and_continued(laptop: Laptops, provider: str) -> None:
    here = laptop(
        {
            "main": [patch(provider, "cart.py", "total = 1"), "the word is swordfish"],
            "next": [patch(provider, "test_cart.py", "assert total"), "tested"],
        }
    )
    repository(here)
    job = here.delegate(provider, isolation="worktree")
    done = allowed(here, job)
    assert (done["state"], done.get("error")) == ("completed", None)
    assert (here.project / "cart.py").read_text() == "total = 0\n"
    change = here.call("GET", f"/jobs/{job}/diff")
    assert [file["path"] for file in change["files"]] == ["cart.py"]
    assert "-total = 0\n+total = 1" in change["diff"]
    comment = {"file": "cart.py", "line": 1, "text": "and a test"}
    reply = here.call("POST", f"/jobs/{job}/reply", message="[[next]] go on", comments=[comment])["job"]["id"]
    again = allowed(here, reply)
    assert (again["state"], again.get("error")) == ("completed", None)
    asked = here.model.thread("next")[0].text()
    assert "swordfish" in here.model.thread("next")[-1].text(), "its own thread"
    assert "cart.py:1: and a test" in asked
    assert "What was said and done before" not in asked
    assert [file["path"] for file in here.call("GET", f"/jobs/{reply}/diff")["files"]] == ["cart.py", "test_cart.py"]
    (here.project / "cart.py").write_text("total = 5\n")
    refused = acted(here, reply, "apply")
    assert (refused["state"], refused["code"]) == ("refused", "conflict")
    assert not (here.project / "test_cart.py").exists()
    git(here, "checkout", "-q", "cart.py")
    assert acted(here, job, "apply")["state"] == "done"
    assert (here.project / "cart.py").read_text() == "total = 1\n"
    assert acted(here, reply, "apply")["state"] == "done"
    assert (here.project / "test_cart.py").read_text() == "assert total\n"
    here.baton("jobs", "branch", reply, "cart-total")
    assert git(here, "show", "cart-total:test_cart.py") == "assert total\n"
    here.baton("jobs", "discard", reply)
    with pytest.raises(subprocess.CalledProcessError):
        here.baton("jobs", "branch", reply, "gone")


def test_two_providers_work_in_one_session_at_the_same_time(laptop: Laptops) -> None:
    together = threading.Barrier(2, timeout=LIMIT_S)

    def meet() -> str:
        together.wait()
        return "met"

    here = laptop({name: [patch(name, f"{name}.txt", name), meet] for name in ("claude_code", "codex")})
    repository(here)
    jobs = [
        here.delegate(name, f"[[{name}]] go", isolation="worktree", session_id="both", concurrent=True)
        for name in ("claude_code", "codex")
    ]
    states = [""] * len(jobs)
    while not set(states) <= {"completed", "failed", "cancelled"}:
        states = [str(allowed_once(here, job)["state"]) for job in jobs]
        time.sleep(0.05)
    assert states == ["completed", "completed"]
    for job in jobs:
        here.baton("jobs", "apply", job)
    assert {one.name for one in here.project.glob("*.txt")} == {"claude_code.txt", "codex.txt"}


@PROVIDERS
def test_a_failed_job_is_tried_again(laptop: Laptops, provider: str) -> None:
    release = threading.Event()
    steps = {"main": [lambda: str(release.wait(LIMIT_S)), "late", "the answer", "the answer"]}
    here = laptop(steps)
    job = here.delegate(provider, timeout_s=10)
    assert here.ended(job)["error"]["code"] == "timeout"
    release.set()
    again = here.call("POST", f"/jobs/{job}/retry")["id"]
    assert (here.ended(again)["state"], here.ended(again).get("error")) == ("completed", None)


def test_a_chain_of_tasks_runs_wave_by_wave(laptop: Laptops) -> None:
    order: list[str] = []

    def note(name: str) -> Callable[[], str]:
        return lambda: order.append(name) or f"{name} is done"

    here = laptop({name: [note(name)] * 2 for name in ("a", "b", "c")})
    tasks = {
        name: {"description": f"[[{name}]] go", "agent_type": "general-purpose", "depends_on": after}
        for name, after in (("a", []), ("b", []), ("c", ["a", "b"]))
    }
    body = {"session_id": "chain", "tasks": tasks, "execute": "run", "workspace": "shop", "roster": "claude-code"}
    graph = here.call("POST", "/graphs", **body)["id"]
    for name in ("a", "b"):
        here.call("POST", f"/graphs/{graph}/spawn", task=name)
    here.until(lambda: here.call("GET", f"/graphs/{graph}")["tasks"]["c"]["state"] != "blocked")
    here.call("POST", f"/graphs/{graph}/spawn", task="c")
    here.until(lambda: here.call("GET", f"/graphs/{graph}")["state"] == "completed")
    assert set(order) == {"a", "b", "c"}
    assert order.index("c") > max(order.index("a"), order.index("b"))
