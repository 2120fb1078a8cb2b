"""`baton runner` with the real Codex and Claude Code through their ACP adapters, against a scripted model."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import clients
from tests.e2e.conftest import Server
from tests.e2e.laptop import LIMIT_S, Laptop
from tests.e2e.model_endpoint import ModelEndpoint, Script, Use

pytestmark = pytest.mark.e2e

CHEAP = {"claude_code": ("haiku", "claude-haiku"), "codex": ("gpt-6-luna", "gpt-6-luna")}
"""The model that a cheap tier asks for, and how its name begins on the wire."""
DEAR = {"claude_code": "claude-opus", "codex": clients.CODEX_MODEL}
"""The agents' own choice, as its name begins on the wire."""


Laptops = Callable[..., Laptop]


@pytest.fixture
def laptop(server: Server, tmp_path: Path) -> Iterator[Laptops]:
    """Return a laptop whose model plays a script; at the test's end its runner is gone."""
    made: list[Laptop] = []

    def make(script: Script, *, plain: bool = False) -> Laptop:
        model = ModelEndpoint(script)
        model.__enter__()
        made.append(Laptop(server, tmp_path / "home", model))
        made[-1].start(plain=plain)
        return made[-1]

    yield make
    for one in made:
        assert one.process is not None
        one.process.kill()
        one.process.wait()
        one.model.__exit__()


PROVIDERS = pytest.mark.parametrize("provider", ["claude_code", "codex"])


def shell(provider: str, command: str) -> Use:
    """A command that the agent may not run without asking."""
    if provider == "claude_code":
        return Use("Bash", {"command": command, "description": "a command"})
    script = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "it is needed"}
    return Use(
        "exec",
        f"try {{ text(await tools.exec_command({json.dumps(script)})) }} catch (error) {{ text(String(error)) }}",
    )


@PROVIDERS
def test_an_answer_streams_back_with_its_cost_from_the_model_of_its_tier(laptop, provider):
    asked, named = CHEAP[provider]
    here = laptop({"main": ["one two three"]})
    job = here.delegate(provider, model=asked)
    done = here.ended(job)
    assert (done["state"], done.get("error")) == ("completed", None)
    models = [one.model for one in here.model.thread("main")]  # Codex names its sessions by yet another model
    assert any(model.startswith(named) for model in models)
    assert not any(model.startswith(DEAR[provider]) for model in models)
    chunks = [u["content"]["text"] for u in here.updates(job) if u["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(chunks) == here.call("GET", f"/jobs/{job}/output")["output"] == "one two three"
    assert done["usage"]["output_tokens"] == 5
    assert ("cost_usd" in done["usage"]) == (provider == "claude_code")


@PROVIDERS
@pytest.mark.parametrize(("limit", "code"), [("timeout_s", "timeout"), ("inactivity_timeout_s", "inactive")])
def test_a_slow_or_silent_agent_is_ended(laptop, provider, limit, code):
    asked, release = threading.Event(), threading.Event()

    def hang() -> str:
        asked.set()
        release.wait(LIMIT_S)
        return "too late"

    here = laptop({"main": [hang]})
    done = here.ended(here.delegate(provider, model=CHEAP[provider][0], **{limit: 10}))
    release.set()
    assert (done["state"], done["error"]["code"], done[limit]) == ("failed", code, 10)
    assert asked.is_set()
    here.until(lambda: not any(one.is_running() for one in here.seen))


@PROVIDERS
def test_a_thread_continues_or_restarts_as_the_job_says(laptop, provider):
    here = laptop({"main": ["the word is swordfish"], "next": ["no word"], "last": ["the end"]})
    first = here.delegate(provider, session_id="conversation")
    here.ended(first)
    here.ended(here.delegate(provider, "[[next]] begin", session_id="conversation", thread="fresh"))
    job = here.call("POST", "/delegate", user_prompt="[[last]] go on", thread=first)["job"]
    assert (job["provider"], job["workspace"], job["session_id"]) == (provider, "shop", "conversation")
    assert here.ended(job["id"])["state"] == "completed"
    assert "swordfish" not in here.model.thread("next")[-1].text()
    assert "swordfish" in here.model.thread("last")[-1].text()
    assert "no word" not in here.model.thread("last")[-1].text()


@PROVIDERS
def test_a_model_that_the_agent_does_not_have_is_refused_before_it_costs_anything(laptop, provider):
    here = laptop({"main": ["never"]})
    done = here.ended(here.delegate(provider, model="no-such-model"))
    assert done["error"]["code"] == "model_not_offered"
    assert CHEAP[provider][0] in done["error"]["detail"]
    assert not here.model.asked


@PROVIDERS
@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_a_person_answers_the_agent_s_requests(laptop, provider, answer):
    here = laptop({"main": [shell(provider, "touch touched"), "the end"]})
    job = here.delegate(provider)
    here.reaches(job, "awaiting_permission")
    (asked,) = here.call("GET", f"/approvals?job={job}")["items"]
    assert "touch touched" in json.dumps(asked)
    here.call("POST", f"/approvals/{asked['id']}", answer=answer, reason="a test")
    here.ended(job)
    assert (here.project / "touched").exists() == (answer == "allow")


@PROVIDERS
def test_the_policies_refuse_without_a_person(laptop, provider):
    here = laptop({"main": [shell(provider, "touch touched && git push --force origin main"), "the end"]})
    job = here.delegate(provider)
    here.ended(job)
    assert not (here.project / "touched").exists()
    assert here.call("GET", f"/approvals?job={job}")["items"] == []


def test_a_write_outside_the_workspace_is_refused_without_a_question(laptop, tmp_path):
    outside = tmp_path / "outside.txt"
    here = laptop({"main": [Use("Write", {"file_path": str(outside), "content": "x"}), "the end"]})
    job = here.delegate("claude_code")
    here.ended(job)
    assert not outside.exists()
    assert here.call("GET", f"/approvals?job={job}")["items"] == []


@PROVIDERS
def test_a_cancel_ends_the_agent_in_the_middle_of_an_answer(laptop, provider):
    asked, release = threading.Event(), threading.Event()

    def hang() -> str:
        asked.set()
        release.wait(LIMIT_S)
        return "too late"

    here = laptop({"main": [hang]})
    job = here.delegate(provider)
    here.until(asked.is_set)
    agents = here.agents()
    here.call("POST", f"/jobs/{job}/cancel")
    done = here.ended(job)
    release.set()
    assert (done["state"], "too late" in here.call("GET", f"/jobs/{job}/output")["output"]) == ("cancelled", False)
    assert len(agents) > 1
    here.until(lambda: not any(one.is_running() for one in agents))


@PROVIDERS
def test_a_killed_runner_leaves_no_agent(laptop, provider):
    asked, release = threading.Event(), threading.Event()

    def hang() -> str:
        asked.set()
        release.wait(LIMIT_S)
        return "too late"

    here = laptop({"main": [hang]})
    here.delegate(provider)
    here.until(asked.is_set)
    agents = here.agents()
    here.process.kill()
    here.until(lambda: not any(one.is_running() and one.status() != "zombie" for one in agents))
    release.set()


@PROVIDERS
def test_a_delegated_agent_is_exempt_from_orchestrator_rules(laptop, provider):
    here = laptop({"main": [shell(provider, "pytest --version > ran"), "the end"]})
    client = "claude-code" if provider == "claude_code" else "codex"
    here.baton("hooks", "install", "--client", client)
    here.baton("mode", "enable")
    job = here.delegate(provider)
    here.reaches(job, "awaiting_permission")
    (asked,) = here.call("GET", f"/approvals?job={job}")["items"]
    here.call("POST", f"/approvals/{asked['id']}", answer="allow")
    here.ended(job)
    assert (here.project / "ran").exists()
    assert not any("orchestrator mode is on" in asked.text() for asked in here.model.thread("main"))


@PROVIDERS
def test_a_session_s_next_delegation_continues_the_last(laptop, provider):
    here = laptop({"main": ["the word is swordfish"], "next": ["the end"]})
    here.ended(here.delegate(provider, session_id="conversation"))
    here.ended(here.delegate(provider, prompt="[[next]] go on", session_id="conversation"))
    assert "swordfish" in here.model.thread("next")[-1].text()


@pytest.mark.parametrize("answer", ["allow", "deny"])
@PROVIDERS
def test_an_agent_without_its_adapter_streams_resumes_and_asks_a_person(laptop, provider, answer):
    asks, (model, name) = shell(provider, "touch touched"), CHEAP[provider]
    here = laptop({"main": [asks, "the word is swordfish"], "next": ["the end"]}, plain=True)
    job = here.delegate(provider, model=model, session_id="conversation")
    here.reaches(job, "awaiting_permission")
    (asked,) = here.call("GET", f"/approvals?job={job}")["items"]
    here.call("POST", f"/approvals/{asked['id']}", answer=answer, reason="a test")
    first = here.ended(job)
    second = here.ended(here.delegate(provider, prompt="[[next]] go on", session_id="conversation"))
    assert (first.get("error"), second.get("error")) == (None, None)
    assert here.call("GET", f"/jobs/{first['id']}/output")["output"] == "the word is swordfish"
    assert (here.project / "touched").exists() == (answer == "allow")
    assert {one.model.startswith(name) for one in here.model.thread("main")} == {True}
    assert "swordfish" in here.model.thread("next")[-1].text()
    assert first["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("end", ["cancel", "kill"])
@PROVIDERS
def test_an_agent_without_its_adapter_ends_with_a_cancel_and_with_its_runner(laptop, provider, end):
    asked, release = threading.Event(), threading.Event()

    def hang() -> str:
        asked.set()
        release.wait(LIMIT_S)
        return "too late"

    here = laptop({"main": [hang]}, plain=True)
    job = here.delegate(provider)
    here.until(asked.is_set)
    agents = here.agents()
    if end == "kill":
        here.process.kill()
    else:
        here.call("POST", f"/jobs/{job}/cancel")
        assert here.ended(job)["state"] == "cancelled"
    here.until(lambda: not any(one.is_running() and one.status() != "zombie" for one in agents))
    release.set()
