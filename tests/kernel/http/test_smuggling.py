"""A connection's answer to a request hiding another, sent to a real server."""

import json
import os
import socket
import subprocess
import sys

import pytest

from tests.support.cases import listed
from tests.support.smuggling import UPGRADES, answers, cases, exchange, hook, request

LAST = request("connection: close", line="GET /healthz HTTP/1.1")


@pytest.fixture
def ask(server):
    def ask(data, piece=1 << 16):
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return exchange(connection, data, piece)

    return ask


@pytest.mark.parametrize("piece", [1 << 16, 50, 1])
def test_each_request_is_answered_once_and_none_in_its_body(ask, piece):
    wrong = {}
    for name, data, want in cases():
        received = ask(data + LAST, piece)
        if b"/marker" in received or " ".join(str(status) for status, _ in answers(received)) != want:
            wrong[name] = received
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("offer", UPGRADES.values(), ids=UPGRADES)
def test_a_hook_that_offers_another_protocol_is_decided(ask, offer):
    [(status, body)] = answers(ask(request(*offer, "connection: close", body=hook("rm -rf ~"))))
    assert status == 200
    assert json.loads(body)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.slow("starts a server")
def test_stock_uvicorn_does_not_start_the_application():
    command = [sys.executable, "-m", "uvicorn", "--factory", "baton.main:create_app", "--port", "0"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": "app"}
    )
    assert done.returncode != 0, done.stderr
