"""Over HTTP: webhooks are registered by admins, signed, audited, and gone when they are removed."""

import base64
import hashlib
import hmac
import json
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from baton.events import webhooks as service
from baton.events.webhooks import RegisteredWebhook
from tests.support.http_calls import ok
from tests.support.server import served, until


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def running(tmp_path_factory, receiver):
    home = tmp_path_factory.mktemp("webhooks") / "home"
    out = home.parent / "events.ndjson"
    with served(home, BATON_WEBHOOK_HOSTS=f"127.0.0.1:{receiver.server_port}", BATON_EVENTS_FILE=str(out)) as server:
        server.out = out
        yield server


def test_a_registered_webhook_gets_signed_events_until_it_is_removed(running, receiver):
    url = f"http://127.0.0.1:{receiver.server_port}/in"
    with running.client() as admin:
        made = ok(
            admin.post("/events/webhooks", json={"url": url, "topics": ["session-started"], "reason": "a board"}), 201
        )

        def told():
            admin.post("/session-start", json={"session_id": "w"})
            return receiver.got

        headers, body = until(told)[0]
        key = base64.b64decode(made["secret"].removeprefix("whsec_"))
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{signature}"
        assert json.loads(body)["id"] == headers["webhook-id"]
        (listed,) = until(lambda: [one for one in ok(admin.get("/events/webhooks"))["items"] if one["sent"]])
        assert "secret" not in listed
        assert admin.delete(f"/events/webhooks/{made['id']}").status_code == 204
        assert admin.delete(f"/events/webhooks/{made['id']}").status_code == 404
        assert ok(admin.get("/events/webhooks"))["items"] == []
        audited = [one for one in ok(admin.get("/audit"))["items"] if one["object"] == made["id"]]
        assert {one["action"] for one in audited} == {"webhook.create", "webhook.delete"}
        assert made["secret"] not in json.dumps(audited)


def test_the_file_has_the_open_topics_alone(running):
    with running.client() as http:
        prompt = {"session_id": "file", "hook_event_name": "UserPromptSubmit", "prompt": "write the changelog"}
        http.post("/hooks/claude-code", json=prompt)

    def types():
        lines = running.out.read_text().splitlines() if running.out.exists() else []
        return {json.loads(line)["type"] for line in lines if json.loads(line)["subject"] == "file"}

    until(lambda: "baton.prompt-submitted.v1" in types())
    assert not any("claude-hook-event" in one for one in types())


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"url": "http://127.0.0.1:1/", "topics": ["jobs"]}, ("url", "internal address", "BATON_WEBHOOK_HOSTS")),
        ({"url": "http://169.254.169.254/", "topics": ["jobs"]}, ("url", "internal address")),
        ({"url": "ftp://8.8.8.8/", "topics": ["jobs"]}, ("url", "http://")),
        ({"url": "https://8.8.8.8/", "topics": ["job"]}, ("topics.0", "did you mean `jobs`?")),
        ({"url": "https://8.8.8.8/", "topics": ["claude-hook-event"]}, ("topics.0", "restricted")),
        ({"url": "https://8.8.8.8/", "topics": []}, ("topics",)),
        ({"url": "https://none.invalid/", "topics": ["jobs"]}, ("url", "host `none.invalid` has no address")),
    ],
)
def test_a_wrong_webhook_is_told_what_is_wrong(running, body, names):
    with running.client() as admin:
        answer = admin.post("/events/webhooks", json=body)
    assert answer.status_code == 422
    assert all(name in answer.json()["detail"] + json.dumps(answer.json()) for name in names), answer.text


@pytest.mark.parametrize("user", ["dora", ""])
def test_nobody_but_an_admin_registers_a_webhook(running, user):
    headers = {"Baton-User": user} if user else {}
    with running.client(**headers) if user else running.agent() as client:
        assert client.get("/events/webhooks").status_code == 403
        answer = client.post("/events/webhooks", json={"url": "https://8.8.8.8/", "topics": ["jobs"]})
    assert answer.status_code == 403


def webhook(number):
    return RegisteredWebhook(
        id=f"w{number}",
        url="https://8.8.8.8/in",
        topics=("jobs", "modes"),
        secret="whsec_",
        description="for the \0 board",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        created_by="ann",
    )


async def test_what_was_stored_is_found_by_its_organisation_alone(database):
    async with database.transaction() as connection:
        for number in (2, 1):
            await service.add(connection, "acme", webhook(number))
        await service.add(connection, "other", webhook(3))
    found = await service.load(database, "acme")
    assert [one.id for one in found] == ["w1", "w2"]
    assert (found[0].topics, found[0].description) == (("jobs", "modes"), "for the \ufffd board")
    async with database.transaction() as connection:
        assert not await service.remove(connection, "acme", "w3")
        assert not await service.remove(connection, "acme", "\0")
        assert await service.remove(connection, "acme", "w1")
    assert [one.id for one in await service.load(database, "acme")] == ["w2"]
