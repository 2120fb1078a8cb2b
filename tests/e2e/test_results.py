"""What the real Codex and Claude Code changed in a worktree: shown, applied, and gone on with by a reply."""

import json
import subprocess

import pytest

from tests.e2e.laptop import Laptop
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


def allowed(here: Laptop, job: str) -> dict[str, object]:
    """Let the agent do what it asks for, until it has ended."""
    found: dict[str, object] = {}

    def step() -> bool:
        one = here.call("GET", f"/jobs/{job}")
        if one["state"] == "awaiting_permission":
            for asked in here.call("GET", f"/jobs/{job}/permissions")["items"]:
                if asked["state"] == "pending":
                    here.call("POST", f"/jobs/{job}/permissions/{asked['id']}", answer="allow")
        found.update(one)
        return one["state"] in {"completed", "failed", "cancelled"}

    here.until(step)
    return found


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
def test_changes_are_shown_applied_and_gone_on_with(laptop: Laptops, provider: str) -> None:
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
