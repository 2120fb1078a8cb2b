"""The bundle for relays, and the records that they deliver."""

import os
from datetime import UTC, datetime

from baton.shared.record_ids import id_at
from tests.support.cases import every


@every(
    ("record", "field"),
    [
        ({"id": "019b8d5e-3f00-7000-8000-000000000001"}, "records.0.id"),
        ({"id": "ffffffff-ffff-7fff-bfff-ffffffffffff"}, "records.0.id"),
        ({"id": "5d41402a-bc4b-4a76-b971-9d911017c592"}, "records.0.id"),
        ({"id": "no id"}, "records.0.id"),
        ({"effect": "maybe"}, "records.0"),
        ({"user": "bob"}, "records.0.user"),
        ({"elapsed_us": -1}, "records.0"),
    ],
)
def test_record_that_cannot_be_is_refused(server, record, field):
    good = {"id": id_at(datetime.now(UTC), os.urandom(10)), "tool": "Bash"}
    with server.agent(Authorization=f"Bearer {server.token_of('bundle-ada')}") as agent:
        refused = agent.post("/bundle/records", json={"records": [good | record]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == field


def test_a_bundle_has_only_its_user_s_data(server):
    with server.client() as admin:
        for user in ("bundle-ada", "bundle-bob"):
            server.token_of(user)
            body = {"scope": "user", "id": user, "enabled": True, "level": "strict", "reason": f"for {user}"}
            assert admin.put("/mode", json=body).status_code == 200
            assert admin.put("/freezes", json={"scope": "user", "id": user, "reason": f"for {user}"}).status_code == 200
    with server.agent(Authorization=f"Bearer {server.token_of('bundle-ada')}") as agent:
        found = agent.get("/bundle")
        assert agent.get("/bundle", headers={"If-None-Match": found.headers["ETag"]}).status_code == 304
    assert "for bundle-ada" in found.text
    assert "for bundle-bob" not in found.text
