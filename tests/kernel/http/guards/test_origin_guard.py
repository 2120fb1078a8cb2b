"""A web page that a developer visits can neither post to loopback nor rebind a name to it."""

import pytest

FOREIGN = [
    ({"Host": "evil.example"}, "forbidden_host"),
    ({"Host": "127.0.0.1.evil.example:8080"}, "forbidden_host"),
    ({"Origin": "https://evil.example"}, "forbidden_origin"),
    ({"Origin": "null"}, "forbidden_origin"),
    ({"Origin": "http://127.0.0.1:1"}, "forbidden_origin"),
    ({"Sec-Fetch-Site": "cross-site"}, "forbidden_origin"),
    ({"Sec-Fetch-Site": "same-site"}, "forbidden_origin"),
]


@pytest.mark.parametrize(("headers", "code"), FOREIGN, ids=[str(row[0]) for row in FOREIGN])
@pytest.mark.parametrize("path", ["/mode", "/pre-tool-use", "/hooks/claude-code", "/session-start"])
def test_pages_of_other_sites_cannot_post_here(http, headers, code, path):
    body = {"scope": "organisation", "enabled": False}
    response = http.request("PUT" if path == "/mode" else "POST", path, json=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, code)


def test_a_page_of_the_server_itself_may(http, server):
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    body = {"scope": "session", "id": "own", "enabled": True}
    assert http.put("/mode", json=body, headers=headers).status_code == 200
