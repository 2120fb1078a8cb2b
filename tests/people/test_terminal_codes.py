"""A code on the server's own terminal proves a person where no socket for people can be made."""

import os
import pty
import re
import select
import time

import httpx2
import pytest

from baton.kernel.base.errors import Conflict, Forbidden
from baton.people.terminal_codes import ATTEMPTS, LASTS_S, MOST, TerminalCodes
from baton.shared.person_socket import person_socket
from tests.support.forge import forge
from tests.support.http_calls import ok, refused
from tests.support.server import free_port

CODE = re.compile(r"type this code there: (\d{8})")


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def shown():
    return []


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def codes(shown, clock):
    return TerminalCodes(lambda text: shown.append(CODE.search(text)[1]), clock)


def test_the_code_that_was_shown_proves_a_person_for_ten_minutes(codes, shown, clock):
    code_id = codes.ask()
    assert not codes.is_proof(code_id)
    proof = codes.prove(code_id, shown[0])
    assert (codes.is_proof(proof), codes.is_proof(proof[:-1]), codes.is_proof("")) == (True, False, False)
    clock.now = LASTS_S - 1
    assert codes.is_proof(proof)
    clock.now = LASTS_S
    assert not codes.is_proof(proof)


def test_a_code_is_good_once_and_for_its_own_client(codes, shown):
    mine, other = codes.ask(), codes.ask()
    with pytest.raises(Forbidden):
        codes.prove(other, shown[0])
    codes.prove(mine, shown[0])
    with pytest.raises(Forbidden, match="no such code"):
        codes.prove(mine, shown[0])


def test_after_so_many_wrong_ones_the_right_one_comes_too_late(codes, shown):
    code_id = codes.ask()
    for _ in range(ATTEMPTS):
        with pytest.raises(Forbidden):
            codes.prove(code_id, "x")
    with pytest.raises(Forbidden, match="no such code"):
        codes.prove(code_id, shown[0])


def test_so_many_are_shown_in_ten_minutes(codes, shown, clock):
    for _ in range(MOST):
        codes.ask()
    with pytest.raises(Conflict, match="ten minutes"):
        codes.ask()
    clock.now = LASTS_S
    codes.ask()
    assert len(shown) == len(set(shown)) == MOST + 1


def test_an_old_code_proves_nothing(codes, shown, clock):
    code_id = codes.ask()
    clock.now = LASTS_S
    with pytest.raises(Forbidden, match="no such code"):
        codes.prove(code_id, shown[0])


def test_a_server_with_a_socket_shows_none(server):
    with server.agent() as agent:
        refused(agent.post("/terminal-codes"), 403, "forbidden")
        off = {"scope": "user", "enabled": False}
        refused(agent.put("/mode", json=off, headers={"Baton-Person": "0" * 64}), 403, "person_required")


@pytest.fixture
def terminal(tmp_path):
    """Run a server at a terminal whose socket for people cannot be made; returns its port and what the terminal shows."""
    port = free_port()
    in_the_way = person_socket(port)
    in_the_way.mkdir(parents=True)
    seen, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BATON_HOME": str(tmp_path / "b"), "PORT": str(port)}
    running = forge.start(["serve"], env, os.ttyname(theirs))

    def shows(pattern):
        text, until = "", time.monotonic() + 60
        while time.monotonic() < until and not (found := re.search(pattern, text)):
            if select.select([seen], [], [], 0.2)[0]:
                text += os.read(seen, 65_536).decode()
        assert found, text
        return found

    yield port, shows
    running.terminate()
    running.wait()
    in_the_way.rmdir()
    os.close(seen)
    os.close(theirs)


def test_a_server_without_a_socket_says_so_and_takes_the_code_from_its_terminal(terminal):
    port, shows = terminal
    shows("needs a code that this terminal shows when `baton` asks for one")
    off = {"scope": "user", "enabled": False}
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as http:
        for _ in range(600):
            try:
                ok(http.get("/healthz"))
                break
            except httpx2.ConnectError:
                time.sleep(0.1)
        refused(http.put("/mode", json=off), 403, "person_required")
        code_id = ok(http.post("/terminal-codes"), 201)["id"]
        code = shows(CODE.pattern)[1]
        proof = ok(http.post(f"/terminal-codes/{code_id}", headers={"Baton-Person-Code": code}))["proof"]
        ok(http.put("/mode", json=off | {"id": "ann"}, headers={"Baton-Person": proof}))
        refused(http.put("/mode", json=off), 403, "person_required")
