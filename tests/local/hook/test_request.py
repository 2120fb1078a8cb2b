"""The request of `baton hook`: URLs as curl reads them, and answers in every form of HTTP."""

import pytest

from baton.local.hook.request import Answer, NoAnswerError, Url, _proxy
from tests.support.cases import every

URLS = [
    ("http://127.0.0.1:8080", ("http", "", "127.0.0.1", 8080, "")),
    ("http://127.0.0.1:8080/", ("http", "", "127.0.0.1", 8080, "")),
    ("https://baton.example", ("https", "", "baton.example", 443, "")),
    ("http://ada:p%40ss@baton.example/team/a/", ("http", "ada:p%40ss", "baton.example", 80, "/team/a")),
    ("http://[::1]:8080", ("http", "", "::1", 8080, "")),
    ("http://[fe80::1]", ("http", "", "fe80::1", 80, "")),
    ("baton.example:81", ("http", "", "baton.example", 81, "")),
]


@every(("text", "parts"), URLS)
def test_a_url_is_read(text, parts):
    url = Url(text)
    assert (url.scheme, url.user, url.host, url.port, url.path) == parts


@every("text", ["", "http://", "ftp://baton.example", "http:///hooks"])
def test_an_invalid_url_is_no_server(text):
    with pytest.raises(NoAnswerError, match="has no http or https url"):
        Url(text)


ANSWERS = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
    (b"HTTP/1.1 200 OK\r\n\r\n{}", b"{}"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n", b"{}"),
    (b"HTTP/1.0 204 No Content\r\n\r\n", b""),
]


@every(("raw", "body"), ANSWERS)
def test_an_answer_is_read_whole(raw, body):
    assert Answer(raw).body == body


@every(
    "raw",
    [
        b"",
        b"garbage\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}",
    ],
)
def test_a_cut_answer_is_no_answer(raw):
    with pytest.raises(NoAnswerError):
        Answer(raw)


PROXIES = [
    ("http://baton.example", {"http_proxy": "http://p:1"}, "p"),
    ("http://baton.example", {"HTTP_PROXY": "http://p:1"}, ""),
    ("https://baton.example", {"HTTPS_PROXY": "http://p:1", "http_proxy": "http://q:1"}, "p"),
    ("https://baton.example", {"all_proxy": "p:1"}, "p"),
    ("http://baton.example", {"http_proxy": "http://p:1", "no_proxy": "other, .example"}, ""),
    ("http://baton.example", {"http_proxy": "http://p:1", "NO_PROXY": "*"}, ""),
    ("http://notbaton.example", {"http_proxy": "http://p:1", "no_proxy": "baton.example"}, "p"),
    ("http://localhost:8080", {"http_proxy": "http://p:1"}, ""),
]


@every(("url", "env", "host"), PROXIES)
def test_a_proxy_is_taken_as_curl_takes_it(url, env, host):
    proxy = _proxy(Url(url), env)
    assert (proxy.host if proxy else "") == host
