"""`/reports` over real HTTP."""

from tests.support.http_calls import ok, refused


def test_a_report_is_made_listed_and_answered(http, dora, eve, blocked):
    made = ok(dora.post("/reports", json={"decision_id": blocked["id"], "comment": "a one-line fix"}), 201)
    assert (made["rule"], made["state"], made["user"]) == ("orchestrator/direct-edit", "open", "dora")
    path = f"/reports/{made['id']}"
    again = dora.post("/reports", json={"decision_id": blocked["id"]})
    refused(again, 409, "conflict", "already")
    refused(eve.post("/reports", json={"decision_id": blocked["id"]}), 404, "not_found")
    refused(eve.get(path), 404, "not_found")
    assert made in ok(http.get("/reports", params={"rule": made["rule"], "state": "open"}))["items"]
    answer = {"state": "accepted", "answer": "the rule will spare those"}
    refused(dora.put(path, json=answer), 403, "forbidden")
    refused(
        http.put(path, json=answer), 412, "precondition_failed", '`If-Match` is missing; the current version is `"1"`'
    )
    answered = http.put(path, json=answer, headers={"If-Match": '"1"'})
    assert (ok(answered)["state"], answered.headers["etag"]) == ("accepted", '"2"')
    refused(http.put(path, json=answer, headers={"If-Match": '"1"'}), 412, "precondition_failed", '"2"')
    assert ok(dora.get(path))["answer"] == answer["answer"]
    assert ok(dora.get("/reports", params={"state": "accepted"}))["items"][0]["id"] == made["id"]


def test_a_decision_that_is_not_there_cannot_be_reported(dora):
    refused(dora.post("/reports", json={"decision_id": "none"}), 404, "not_found", "`none`")
