"""URLs permitted for the server's requests."""

import ipaddress

import pytest

from baton.kernel.http.outbound_guard import OutboundRefused, checked_url, destination, is_public
from tests.support.cases import every


@every(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2001:0:1::", False),
    ],
)
def test_internal_addresses_are_known_in_every_form(address, public):
    assert is_public(ipaddress.ip_address(address)) == public


@every(
    "url",
    [
        "http://127.0.0.1/x", "http://localhost/", "http://2130706433/", "http://0x7f.1/", "http://[::1]:80/",
        "http://[::ffff:127.0.0.1]/", "http://no-such-host.invalid/",
    ],
)  # fmt: skip
async def test_an_url_that_leads_inside_is_refused(url):
    with pytest.raises(OutboundRefused):
        await destination(url)


@every("url", ["ftp://8.8.8.8/", "8.8.8.8", "http://", "http://u:p@8.8.8.8/", "http://8.8.8.8:99999/"])
def test_an_unusual_url_is_refused(url):
    with pytest.raises(OutboundRefused):
        checked_url(url)


async def test_a_request_uses_the_checked_address():
    found = await destination("https://8.8.8.8:8443/in?x=1")
    assert (found.url, found.host, found.name) == ("https://8.8.8.8:8443/in?x=1", "8.8.8.8:8443", "8.8.8.8")
    assert (await destination("http://localhost:81/a", ["localhost:81"])).url in {
        "http://127.0.0.1:81/a", "http://[::1]:81/a",
    }  # fmt: skip
    with pytest.raises(OutboundRefused):
        await destination("http://localhost:82/a", ["localhost:81"])
