"""The answer to an odd request, equal for the endpoints of agents and of people."""

import pytest

from tests.support.cases import every

UNREADABLE = [
    (b"{", "line 1, column 2"),
    (b'{"a": "\n"}', "invalid control character at line 1, column 8"),
    (b'{"a": "\xff"}', "byte 7"),
    (b'{"a": 1' + b"0" * 5_000 + b"}", "too many digits"),
    (b"[" * 20_000, "nested too deeply"),
]


@every(("body", "told"), UNREADABLE, ids=[row[1] for row in UNREADABLE])
@every(("method", "path"), [("POST", "/pre-tool-use"), ("PUT", "/mode")])
def test_invalid_json_is_reported_with_its_position(http, method, path, body, told):
    response = http.request(method, path, content=body, headers={"Content-Type": "application/json"})
    problem = response.json()
    assert (response.status_code, problem["code"]) == (400, "bad_json")
    assert told in problem["detail"]


@every(("body", "kind"), [(b"[]", "an array"), (b"null", "null"), (b"1", "a number")])
def test_a_body_other_than_an_object_names_its_type(http, body, kind):
    response = http.put("/mode", content=body, headers={"Content-Type": "application/json"})
    assert response.json()["detail"] == f"`body` must be an object, not {kind}"


ALLOWED = [
    ("/mode", "DELETE GET PUT"),
    ("/tokens/x", "DELETE"),
    ("/pre-tool-use", "POST"),
    ("/openapi.json", "GET HEAD"),
]


@every(
    ("path", "body", "told"),
    [
        ("/spawn", {"agent_type": "explore", "prompt": " "}, "`prompt` is blank"),
        ("/reports", {"decision_id": "x", "comment": "x" * 5_000}, "`comment` has 5000 characters; at most"),
        ("/session", {}, "`body` is an object: give `code` or `token`, and not both"),
        ("/delegate", {"user_prompt": "x", "provider": "codx"}, "did you mean `codex`? allowed: `codex`"),
    ],
)
def test_an_invalid_value_has_a_plain_message(http, path, body, told):
    assert told in http.post(path, json=body).json()["detail"]


@every(("path", "allowed"), ALLOWED)
def test_a_disallowed_method_lists_the_allowed_ones(http, path, allowed):
    response = http.request("PATCH", path)
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert sorted(response.headers["allow"].split(", ")) == allowed.split()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_load_balancer_may_ask_without_wanting_the_body(http, path):
    response = http.head(path)
    assert (response.status_code, response.content) == (200, b"")
