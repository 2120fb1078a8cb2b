"""The meaning of a signed-in browser's cookie in a request."""

import pytest

from baton.kernel.base.errors import ForbiddenOrigin
from baton.kernel.http.fields import set_cookie, with_session
from tests.support.cases import every

HOST = {b"host": b"baton.localhost:8080"}


@every(
    ("cookie", "bearer"),
    [
        (b"baton-8080=abc", b"Bearer abc"),
        (b"a=b; baton-8080=abc ;c=d", b"Bearer abc"),
        (b"__Host-baton-8080=abc", b"Bearer abc"),
        (b"baton-8081=abc", None),
        (b"baton=abc", None),
        (b"xbaton-8080=abc", None),
        (b"baton-8080=", None),
        (b"baton-8080", None),
        (b"", None),
        (b"\xff\xfe=;;;==", None),
    ],
)
def test_only_the_cookie_of_this_port_counts(cookie, bearer):
    assert with_session("GET", HOST | {b"cookie": cookie}).get(b"authorization") == bearer


def test_a_request_with_a_token_is_a_programs():
    headers = HOST | {b"cookie": b"baton-8080=abc", b"authorization": b"Bearer own"}
    assert with_session("POST", headers) == headers


@every("method", ["POST", "PUT", "PATCH", "DELETE", "ODD"])
def test_a_changing_request_needs_an_origin(method):
    with pytest.raises(ForbiddenOrigin):
        with_session(method, HOST | {b"cookie": b"baton-8080=abc"})
    with pytest.raises(ForbiddenOrigin):
        with_session(
            method, HOST | {b"cookie": b"baton-8080=abc", b"origin": b"http://x", b"sec-fetch-site": b"same-site"}
        )
    with_session(method, HOST | {b"cookie": b"baton-8080=abc", b"sec-fetch-site": b"same-origin"})


@every(
    ("host", "secure", "name"),
    [
        ("127.0.0.1:8080", False, "baton-8080"),
        ("[::1]:8080", False, "baton-8080"),
        ("baton.example", True, "__Host-baton-443"),
        ("baton.example:8443", True, "__Host-baton-8443"),
        ("baton.example", False, "baton-80"),
    ],
)
def test_a_cookie_is_named_for_its_port_and_bound_to_its_host_over_https(host, secure, name):
    made = set_cookie(host, "t", secure=secure, max_age_s=60)
    assert made.partition("=")[0] == name
    assert made.endswith("; Secure") is secure
