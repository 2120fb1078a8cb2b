"""A web page visited by a developer can neither post to loopback nor rebind a name to it."""

from baton.kernel.http.serving.hot_routes import Guard
from tests.support.cases import every

FOREIGN = [
    ({"Host": "evil.example"}, "forbidden_host"),
    ({"Host": "127.0.0.1.evil.example:8080"}, "forbidden_host"),
    ({"Origin": "https://evil.example"}, "forbidden_origin"),
    ({"Origin": "null"}, "forbidden_origin"),
    ({"Origin": "http://127.0.0.1:1"}, "forbidden_origin"),
    ({"Sec-Fetch-Site": "cross-site"}, "forbidden_origin"),
    ({"Sec-Fetch-Site": "same-site"}, "forbidden_origin"),
]


@every(("headers", "code"), FOREIGN, ids=[str(row[0]) for row in FOREIGN])
@every("path", ["/mode", "/pre-tool-use", "/hooks/claude-code", "/session-start"])
def test_pages_of_other_sites_cannot_post_here(http, headers, code, path):
    body = {"scope": "organisation", "enabled": False}
    response = http.request("PUT" if path == "/mode" else "POST", path, json=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, code)


def test_a_page_of_the_server_itself_may(http, server):
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    body = {"scope": "session", "id": "own", "enabled": True}
    assert http.put("/mode", json=body, headers=headers).status_code == 200


@every(
    "host",
    [
        "localhost/.evil", "localhost/", "localhost#x", "localhost?x", "evil@localhost", "localhost\\evil", "localhost,evil",
        "localhost ", "localhost.", ".localhost", "evil..localhost", "localhost:80:80", "localhost:x", "localhost:80/",
        "localhost%2f", "[localhost]", "[127.0.0.1]", "::1", "[::1", "[::1]x", ":80", "",
    ],
)  # fmt: skip
def test_a_host_is_compared_whole(host):
    refusal = Guard(["baton.example"]).refusal({b"host": host.encode()})
    assert refusal is not None
    assert refusal.code == "forbidden_host"


@every("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:", "[::1]", "[::1]:80", "Baton.Example:443"])
def test_a_listed_host_is_served_on_any_port(host):
    assert Guard(["baton.example"]).refusal({b"host": host.encode()}) is None
