"""The connection to the server: requests, results of answers, proxies."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from baton.local.server import Api, ApiError, TokenRefused

PROBLEM = {"detail": "no such team", "code": "unknown_team", "errors": [{"field": "a", "message": "x"}] * 2}
REFUSED = [
    (404, json.dumps(PROBLEM), ApiError, "no such team (unknown_team)\n  a: x\n  a: x"),
    (401, json.dumps(PROBLEM), TokenRefused, "the server does not know you: BATON_TOKEN is set, but refused. no such"),
    (200, "<html>", ApiError, "/status` answered 200, and not as Baton does; check BATON_URL"),
    (302, "", ApiError, "/status` answered 302, and not as Baton does; check BATON_URL"),
    (502, "<html>", ApiError, "/status` answered 502, and not as Baton does; check BATON_URL"),
]


@pytest.fixture
def answering(monkeypatch, tmp_path):
    """Answer as a test says, and remember what was asked."""
    asked, answer = [], {"status": 200, "body": "{}"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            length = int(self.headers.get("Content-Length") or 0)
            asked.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
            self.send_response(answer["status"])
            self.send_header("Content-Length", str(len(answer["body"])))
            self.end_headers()
            self.wfile.write(answer["body"].encode())

        do_PUT = do_POST = do_GET  # noqa: N815 - the names of the base class

        def log_message(self, *_):
            pass

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BATON_TOKEN", "secret")
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("BATON_URL", f"http://127.0.0.1:{server.server_port}/base/")
        yield server.server_port, asked, answer
        server.shutdown()
        thread.join()


def test_a_request_has_its_path_below_the_url_and_names_the_caller(answering):
    _, asked, answer = answering
    answer["body"] = r'{"a": "\u00e9"}'
    assert Api().request("PUT", "/x", query={"q": "a b&c"}, body={"é": 1}, headers={"If-Match": '"1"'}) == {"a": "é"}
    method, path, headers, body = asked[0]
    assert (method, path, json.loads(body)) == ("PUT", "/base/x?q=a+b%26c", {"é": 1})
    assert (headers["Authorization"], headers["If-Match"]) == ("Bearer secret", '"1"')


@pytest.mark.parametrize(("status", "body", "kind", "said"), REFUSED)
def test_a_refusal_has_the_server_s_text(answering, status, body, kind, said):
    answering[2].update(status=status, body=body)
    with pytest.raises(kind) as refused:
        Api().request("GET", "/status")
    assert said in str(refused.value)


def test_another_host_is_asked_by_the_proxy_of_the_environment(answering, monkeypatch):
    port, asked, _ = answering
    monkeypatch.setenv("BATON_URL", "http://baton.example:81")
    monkeypatch.setenv("http_proxy", f"http://ada:pw@127.0.0.1:{port}")
    assert Api().request("GET", "/status") == {}
    _, path, headers, _ = asked[0]
    assert (path, headers["Host"]) == ("http://baton.example:81/status", "baton.example:81")
    assert headers["Proxy-Authorization"] == "Basic YWRhOnB3"
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(ApiError, match="cannot be used; allowed: an `http://` proxy"):
        Api()
    monkeypatch.setenv("no_proxy", "baton.example")
    Api()


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://x", "http://", "http://[::1", "http://x:99999"])
def test_an_invalid_url_is_refused(answering, monkeypatch, url):
    monkeypatch.setenv("BATON_URL", url)
    with pytest.raises(ApiError, match="not a URL"):
        Api()


def test_a_line_break_in_a_token_is_refused_without_showing_it(answering, monkeypatch):
    monkeypatch.setenv("BATON_TOKEN", "sec\nret")
    with pytest.raises(ApiError, match="contains a line break") as refused:
        Api()
    assert "sec" not in str(refused.value)


def test_lines_end_at_line_feeds_alone(answering):
    answering[2]["body"] = '{"a": 1}\n\n{"b": "x\\u2028y"}\n'
    assert list(Api().lines("/replay", {})) == [{"a": 1}, {"b": "x\u2028y"}]
