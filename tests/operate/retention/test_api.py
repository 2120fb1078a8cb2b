"""`/retention` over real HTTP."""

from tests.support.http_calls import ok, refused


def test_retention_is_set_from_the_version_that_one_has_read(http, dora):
    now = http.get("/retention")
    kept = {"decisions_days": 30, "reports_days": 60, "audit_days": 400}
    refused(http.put("/retention", json=kept), 412, "precondition_failed", now.headers["etag"])
    set_ = http.put("/retention", json=kept | {"reason": "law"}, headers={"If-Match": now.headers["etag"]})
    assert ok(set_) == kept | {"jobs_days": 30}
    assert http.get("/retention").headers["etag"] == set_.headers["etag"] != now.headers["etag"]
    refused(http.put("/retention", json=kept, headers={"If-Match": now.headers["etag"]}), 412, "precondition_failed")
    refused(http.put("/retention", json=kept | {"audit_days": 364}), 422, "validation", "`audit_days`")
    refused(dora.get("/retention"), 403, "forbidden")
    refused(dora.put("/retention", json=kept), 403, "forbidden")
    assert ok(http.get("/audit", params={"kind": "retention"}))["items"][0]["reason"] == "law"
