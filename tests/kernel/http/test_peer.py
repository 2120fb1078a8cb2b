"""Inspection of connecting processes: outside the loop, cached briefly, and bounded."""

import asyncio
import os
import socket
import threading

import pytest

from baton.kernel.http import peer
from baton.kernel.http.peer import MOST_WAITING, PROVEN, PeerLooks, is_for_people
from baton.shared.agent_process import ProcessId


@pytest.fixture
def pair():
    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far:
        yield near


def looks_of(monkeypatch, doubt="", process=None):
    """Return looks whose process is this one, or a made one, and what was asked of whom on which thread."""
    asked = []
    monkeypatch.setattr(peer, "doubt", lambda pid, clients: asked.append((pid, threading.get_ident())) or doubt)
    if process is not None:
        monkeypatch.setattr(peer, "identify", lambda _: process())
    return PeerLooks(), asked


@pytest.mark.parametrize(("doubt", "verdict"), [("", PROVEN), ("it has no terminal", b"it has no terminal")])
async def test_a_process_is_looked_at_once_on_another_thread(monkeypatch, pair, doubt, verdict):
    looks, asked = looks_of(monkeypatch, doubt)
    assert [await looks.verdict(pair) for _ in range(50)] == [verdict] * 50
    assert [pid for pid, _ in asked] == [os.getpid()]
    assert asked[0][1] != threading.get_ident()


async def test_a_reused_process_id_is_inspected_again(monkeypatch, pair):
    starts = iter(range(2))
    looks, asked = looks_of(monkeypatch, process=lambda: ProcessId(1, next(starts)))
    await looks.verdict(pair)
    await looks.verdict(pair)
    assert len(asked) == 2


async def test_a_process_that_began_after_the_connection_did_not_make_it(monkeypatch, pair):
    looks, asked = looks_of(monkeypatch, process=lambda: ProcessId(os.getpid(), peer._now_ticks() + 1_000))
    assert await looks.verdict(pair) == b"the process has ended, or cannot be inspected"
    assert asked == []


async def test_more_than_so_many_wait_for_nothing_and_are_no_persons(monkeypatch, pair):
    release = threading.Event()
    monkeypatch.setattr(peer, "doubt", lambda *_: release.wait(60) and "")
    looks = PeerLooks()
    waiting = [asyncio.create_task(looks.verdict(pair)) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    assert await looks.verdict(pair) == b"too many processes connect at once; try again"
    release.set()
    assert set(await asyncio.gather(*waiting)) == {PROVEN}
    assert looks.looks == 1


def test_only_unix_sockets_are_for_people(pair):
    with socket.socket() as tcp:
        assert [is_for_people(one) for one in (None, tcp, pair)] == [False, False, True]
