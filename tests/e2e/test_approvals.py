"""Approvals with real clients: the hook waits, a person answers from elsewhere, and exactly that call runs."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.console.conftest import CHROMIUM, FLAGS
from tests.e2e.conftest import Server, Stage, made
from tests.e2e.model_endpoint import Step, Use
from tests.e2e.test_claude_code import bash as claude_bash
from tests.e2e.test_codex import bash as codex_bash
from tests.e2e.test_copilot import bash as copilot_bash
from tests.e2e.test_gemini import shell as gemini_shell
from tests.e2e.test_opencode import bash as opencode_bash
from tests.e2e.test_qwen import shell as qwen_shell
from tests.support.server import until

pytestmark = pytest.mark.e2e
RULE = """\
id: team/release
description: A person approves a release.
match: {shell: {program: release}}
decision: ask
wait: 9m
reason: A release needs a person.
tests: {match: [release 1], not_match: [make]}
"""


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Server]:
    """A server on which `release` waits for a person, also where the client runs without one."""
    served = Server(tmp_path / "server")
    folder = served.home / "state" / "policies"
    (folder / "team").mkdir(parents=True)
    (folder / "team" / "release.yaml").write_text(RULE)
    (folder / "config.yaml").write_text("headless: request\n")
    served.start()
    yield served
    served.stop()


CLIENTS = ["claude-code http", "claude-code curl", "codex curl"]
OTHERS = ["copilot-cli", "gemini", "opencode", "qwen"]
"""Clients with their ways to the server. The others have the same way as Codex, so one test of each must do."""


@pytest.fixture(params=CLIENTS)
def play(request: pytest.FixtureRequest, patient: Server, tmp_path: Path) -> tuple[Stage, Callable, Callable]:
    """A home with the client's hooks, what runs a script with it, and how its model calls the shell."""
    client, _, transport = request.param.partition(" ")
    stage = made(patient, tmp_path)
    (stage.home / "bin").mkdir()
    (stage.home / "bin" / "release").write_text("#!/bin/sh\necho released $* >>released\n")
    (stage.home / "bin" / "release").chmod(0o755)
    stage.install(client, *(("--transport", transport) if transport else ()))
    plays = {
        "claude-code": (stage.claude, claude_bash),
        "codex": (stage.codex, codex_bash),
        "copilot-cli": (stage.copilot, copilot_bash),
        "gemini": (stage.gemini, gemini_shell),
        "opencode": (stage.opencode, opencode_bash),
        "qwen": (stage.qwen, qwen_shell),
    }
    return (stage, *plays[client])


def released(stage: Stage) -> list[str]:
    file = stage.project / "released"
    return file.read_text().splitlines() if file.exists() else []


def waiting(server: Server) -> list[dict]:
    try:
        return server.get("/approvals")["items"]
    except httpx2.TransportError:
        return []


def post(server: Server, request: str, body: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    httpx2.post(f"{server.url}/approvals/{request}", json=body, headers=headers).raise_for_status()


def answering(answer: Callable[[int, str], object], server: Server, number: int) -> threading.Thread:
    """Answer so many requests as they come, in a thread: `answer` gets the request's number and id."""

    def work() -> None:
        answered: set[str] = set()
        for at in range(number):
            (request,) = until(lambda: {one["id"] for one in waiting(server)} - answered)
            answer(at, request)
            answered.add(request)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("play", [*CLIENTS, *OTHERS], indirect=True)
def test_an_answer_from_elsewhere_lets_exactly_that_call_run_once(play, patient):
    stage, run, bash = play

    def answer(at: int, request: str) -> None:
        if at == 0:
            stage.baton("approve", request)  # from another terminal
            return
        post(patient, request, {"answer": "deny", "reason": "not on a friday"})  # from the API

    thread = answering(answer, patient, 3)
    one, two = (bash(f"{stage.home}/bin/release {number}") for number in (1, 2))
    played = run({"main": [one, one, two, "bye"]})
    thread.join()
    assert released(stage) == ["released 1"]
    assert played.told().count("not on a friday") == 2


def browsing(server: Server) -> threading.Thread:
    """Approve the first call in the console by its key, and deny two more by its button, in a thread; return when it is signed in."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r requirements/browser.txt")

    is_open = threading.Event()

    def work() -> None:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(base_url=f"http://baton.localhost:{server.port}").new_page()
            headers = {"Authorization": f"Bearer {server.token}"}
            page.goto(httpx2.post(f"{server.url}/session/links", headers=headers).json()["path"])
            page.get_by_role("button", name="Sign out").wait_for()
            page.goto("/ui/waiting")
            page.get_by_text("Nothing waits for you.").wait_for()
            is_open.set()
            for at, line in enumerate(("release 1", "release 1", "release 1 --force")):
                one = page.locator("[data-question]", has=page.get_by_text(re.compile(f"{line}$")))
                one.wait_for(timeout=60_000)
                if at == 0:
                    page.keyboard.press("a")
                    page.get_by_text("You allowed it").wait_for()
                    continue
                one.get_by_role("button", name="Deny").click()
                page.get_by_label("Message to the agent").fill("not on a friday")
                page.keyboard.press("Enter")
                one.wait_for(state="detached")
            browser.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert is_open.wait(60)  # Codex tells its model to go on after 30 s
    return thread


def test_an_answer_in_the_browser_lets_exactly_that_call_run_once(play, patient):
    stage, run, bash = play
    thread = browsing(patient)
    played = run({"main": [*(bash(f"{stage.home}/bin/release {given}") for given in ("1", "1", "1 --force")), "bye"]})
    thread.join()
    assert released(stage) == ["released 1"]
    assert played.told().count("not on a friday") == 2


def test_a_server_killed_between_request_and_answer_loses_nothing(play, patient):
    stage, run, bash = play

    def answer(_: int, request: str) -> None:
        os.killpg(patient.process.pid, signal.SIGKILL)
        patient.process.wait()
        (patient.home / "state" / "server.json").unlink(missing_ok=True)
        patient.start()
        post(patient, request, {"answer": "allow"})

    thread = answering(answer, patient, 1)

    def retry() -> Step:
        assert released(stage) == []
        thread.join()
        return bash(f"{stage.home}/bin/release 1")

    played = run({"main": [bash(f"{stage.home}/bin/release 1"), retry, "bye"]})
    assert "baton approve" in played.told()
    assert released(stage) == ["released 1"]


@pytest.mark.parametrize("play", ["qwen"], indirect=True)
def test_a_client_that_runs_a_call_after_a_minute_has_its_refusal_before(play, patient):
    stage, run, bash = play

    def retry() -> Step:
        (request,) = waiting(patient)
        post(patient, request["id"], {"answer": "allow"})
        assert released(stage) == []
        return bash(f"{stage.home}/bin/release 1")

    played = run({"main": [bash(f"{stage.home}/bin/release 1"), retry, "bye"]})
    assert "baton approve" in played.told()
    assert released(stage) == ["released 1"]


@pytest.mark.parametrize("play", [*CLIENTS, *OTHERS], indirect=True)
def test_a_freeze_stops_the_next_call_of_a_running_session(play):
    stage, run, bash = play

    def frozen() -> Use:
        stage.baton("freeze", "--scope", "organisation", "--for", "5m", "--reason", "an incident")
        return bash("touch late")

    played = run({"main": [bash("touch early"), frozen, "bye"]})
    assert "an incident" in played.told()
    assert [(stage.project / name).exists() for name in ("early", "late")] == [True, False]
