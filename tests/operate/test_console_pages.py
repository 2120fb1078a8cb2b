"""The console's pages as the server sends them: the shipped build, its policy, and its size."""

import re

from baton.shared import packaged
from tests.support.cases import every

DIST = packaged.folder("web/dist")
MOST_GZIPPED = 300_000
"""Bytes of the first screen on the wire."""


@every(("accept", "status"), [("text/html,application/xhtml+xml", 307), ("*/*", 404), ("application/json", 404)])
def test_browsers_are_sent_to_the_console_and_programs_are_told_where_the_api_is(http, accept, status):
    answer = http.get("/", headers={"Accept": accept}, follow_redirects=False)
    assert answer.status_code == status
    assert answer.headers.get("location") == ("/ui/" if status == 307 else None)
    assert status == 307 or "/openapi.json" in answer.json()["detail"]


@every("path", ["", "decisions", "decisions?effect=deny", "sign-in", "a/b/c", "%2e%2e/secret", "index.html"])
def test_every_path_that_is_no_file_is_the_page_with_a_nonce_of_its_own(http, path):
    first, second = http.get(f"/ui/{path}"), http.get(f"/ui/{path}")
    nonces = set()
    for answer in (first, second):
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        policy = answer.headers["content-security-policy"]
        [nonce] = re.findall(r"style-src 'self' 'nonce-([^']+)'", policy)
        assert f'nonce="{nonce}"' in answer.text
        assert "{{nonce}}" not in answer.text
        assert "default-src 'none'; script-src 'self';" in policy
        assert "unsafe" not in policy
        nonces.add(nonce)
    assert len(nonces) == 2


def test_the_page_has_no_script_of_its_own_and_asks_nobody_else(http):
    page = http.get("/ui/").text
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"(?:src|href)=\"(?!/ui/)", page) == []
    for reference in re.findall(r"(?:src|href)=\"(/ui/[^\"]+)\"", page):
        answer = http.get(reference)
        assert (answer.status_code, answer.headers["x-content-type-options"]) == (200, "nosniff")
        expected = "immutable" if "/assets/" in reference else "no-cache"
        assert expected in answer.headers["cache-control"]


@every("path", ["assets/none.js", "assets/../../pyproject.toml", "assets/%2e%2e/index.html"])
def test_a_file_that_the_console_has_not_is_not_found(http, path):
    assert http.get(f"/ui/{path}").status_code in {200, 404}
    assert "build-system" not in http.get(f"/ui/{path}").text


@every(
    ("accepts", "encoding"),
    [("gzip", "gzip"), ("br, gzip", "gzip"), ("gzip;q=0", None), ("identity", None), ("", None)],
)
def test_files_with_a_digest_are_compressed_for_whom_takes_it(http, accepts, encoding):
    (script,) = re.findall(r"<script[^>]+src=\"(/ui/assets/[^\"]+)\"", http.get("/ui/").text)
    answer = http.get(script, headers={"Accept-Encoding": accepts})
    assert (answer.headers.get("content-encoding"), answer.headers["vary"]) == (encoding, "Accept-Encoding")
    assert answer.content == (DIST / script.removeprefix("/ui/")).read_bytes()


def test_the_first_screen_is_small_on_the_wire(http):
    first = re.findall(r"/ui/assets/[^\"]+", http.get("/ui/").text)
    answers = [http.get(name, headers={"Accept-Encoding": "gzip"}) for name in first]
    assert 0 < sum(int(answer.headers["content-length"]) for answer in answers) <= MOST_GZIPPED
