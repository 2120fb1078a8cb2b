"""Requests hiding another, through the shipped configurations of Caddy and nginx: answers are never mixed up."""

import os
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager
from functools import partial
from time import sleep

import pytest

from tests.support.cases import listed
from tests.support.http_calls import ok
from tests.support.server import free_port, served, serving, until
from tests.support.smuggling import MARKER, cases, exchange, hook, request
from tests.support.terminal import ROOT

last = partial(request, "connection: close")
pytestmark = pytest.mark.slow("sends a hundred requests three times through each proxy")
PATIENCE_S = 0.1
"""Seconds without a byte after which an attacker continues. A proxy may wait for bytes that never come."""
APART = b"\r\n" * 4_096
"""What a parser skips before a request. It fills a proxy's buffer, so that the rest arrives by itself."""
HIDDEN = {
    "a marker": MARKER,
    "an unfinished DELETE": b"DELETE /policies/layers/team HTTP/1.1\r\nhost: localhost\r\nif-match: *\r\nx: ",
    "a hook without its last byte": request(body=hook("git status") + b" ")[:-1],
}
LAYER = {"config.yaml": "rules:\n  options/pkill: 'off'\n"}


def shipped(folder, name, *changes):
    """Write a shipped file with other addresses; return its path."""
    text = (ROOT / "deploy" / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return str(folder / name)


def caddy(folder, port, upstream):
    config = shipped(folder, "Caddyfile", ("baton-1:8080 baton-2:8080", upstream))
    env = {"BATON_DOMAIN": f"localhost:{port}", "CADDY_ADMIN": f"127.0.0.1:{free_port()}"}
    return ["caddy", "run", "--config", config, "--adapter", "caddyfile"], env


def nginx(folder, port, upstream):
    made = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", folder / "key", "-out", folder / "crt"], check=True, capture_output=True)
    places = "".join(f"{one}_temp_path {folder}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = shipped(
        folder, "nginx.conf",
        ("processes auto", "processes 1"), ("baton-1:8080", upstream), ("server baton-2:8080;", ""), ("listen 443", f"listen 127.0.0.1:{port}"),
        ("/etc/nginx/baton.", f"{folder}/"), ("http {", f"http {{ access_log off; {places}"),
    )  # fmt: skip
    return ["nginx", "-p", str(folder), "-c", config, "-g", f"daemon off; pid {folder}/pid;"], {}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests' own: they ask for the removal of its team's layer."""
    with served(tmp_path_factory.mktemp("behind") / "home") as running:
        with running.client() as admin:
            ok(admin.put("/policies/layers/team?activate=true", json={"files": LAYER, "reason": "test"}))
        yield running


@contextmanager
def proxied(kind, folder, upstream):
    """Run a proxy before a server; yield its port."""
    name = kind.__name__
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"no {name} on this machine: apt-get install {name}")
    found = free_port()
    command, env = kind(folder, found, upstream.removeprefix("http://"))
    with (folder / "log").open("wb") as log:
        proxy = subprocess.Popen(
            [program, *command[1:]], env=os.environ | {"HOME": str(folder)} | env, stdout=log, stderr=log
        )
    try:
        until(lambda: b" 200 " in ask(found, last(line="GET /healthz HTTP/1.1"), 60), about=(folder / "log").read_text)
        yield found
    finally:
        proxy.terminate()
        proxy.wait(60)


KINDS = pytest.mark.parametrize("kind", [caddy, nginx], ids=["caddy", "nginx"])


@pytest.fixture(scope="module", params=[caddy, nginx], ids=["caddy", "nginx"])
def port(request, server, tmp_path_factory):
    """The port of a proxy before the server."""
    with proxied(request.param, tmp_path_factory.mktemp(request.param.__name__), server.url) as found:
        yield found


@contextmanager
def connected(port):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
        tls.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        yield connection


def ask(port, data, patience_s):
    """Send on a connection of its own; return what comes back."""
    try:
        with connected(port) as connection:
            connection.settimeout(patience_s)
            return exchange(connection, data)
    except OSError:
        return b""


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_a_smuggled_request_gets_no_answer(server, port, hidden):
    wrong = {}
    hook_of_another = last(body=hook("rm -rf ~"))
    admin = last(f"authorization: Bearer {server.token}", line="GET /me HTTP/1.1")
    for name, data, want in cases(APART + hidden):
        received = ask(port, data, PATIENCE_S)
        # Of what is malformed a proxy may make two requests of the attacker's own, and pass on both.
        told = want != "400" and b"/marker" in received
        person, decision = ask(port, admin, 60), ask(port, hook_of_another, 60)
        if told or b'"role":"admin"' not in person or b'"permissionDecision":"deny"' not in decision:
            wrong[name] = (received, person, decision)
    assert not wrong, listed(wrong)
    with server.client() as client:
        assert client.get("/policies/layers/team").json().get("files") == LAYER


def test_an_event_arrives_when_it_happens(server, port):
    with connected(port) as connection:
        stream = request(f"authorization: Bearer {server.token}", line="GET /stream?topics=decisions HTTP/1.1")
        connection.sendall(stream)
        received = connection.recv(1 << 16)
        while b"event: decisions" not in received:
            ask(port, last(body=hook("rm -rf ~")), 60)
            received += connection.recv(1 << 16)


@KINDS
def test_a_hung_database_takes_no_server_out_of_the_proxy(kind, tmp_path, own_postgres):
    url = own_postgres.url("postgres")
    with serving(tmp_path / "home", BATON_DATABASE_URL=url) as server:
        token = (server.home / "admin-token").read_text().strip()
        call = last(f"authorization: Bearer {token}", body=hook("rm -rf ~"))
        (tmp_path / "proxy").mkdir()
        with (
            proxied(kind, tmp_path / "proxy", server.url) as port,
            own_postgres.hung(),
            server.client(Authorization=f"Bearer {token}") as http,
        ):
            until(lambda: http.get("/readyz").json()["database"] == "down")
            answers = [ask(port, call, 60) for _ in range(40) if not sleep(0.2)]  # four checks by Caddy
            assert http.get("/readyz").json()["database"] == "down", "it still hangs"
    assert {b'"permissionDecision":"deny"' in answer for answer in answers} == {True}
