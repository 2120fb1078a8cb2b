"""`baton open`: the console in a browser, signed in."""

import json
import webbrowser

from baton.cli.people.open import console_url
from tests.support.cases import every


@every(
    ("url", "console"),
    [
        ("http://127.0.0.1:8080", "http://baton.localhost:8080"),
        ("http://localhost:9000/", "http://baton.localhost:9000"),
        ("http://[::1]:8080", "http://baton.localhost:8080"),
        ("https://baton.example/", "https://baton.example"),
        ("https://baton.example:8443", "https://baton.example:8443"),
    ],
)
def test_a_server_on_this_machine_has_a_name_of_its_own(url, console):
    assert console_url(url) == console


def test_the_link_opens_or_is_printed(baton, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda link: opened.append(link) or True)
    assert "open in your browser" in baton("open")
    assert "/ui/sign-in#" in opened[0]
    link = baton("open", "--print").splitlines()[0]
    assert len(opened) == 1
    assert link.startswith("http://baton.localhost:")
    assert json.loads(baton("open", "--json"))["url"].partition("#")[0] == link.partition("#")[0]


def test_without_a_browser_the_link_is_printed(baton, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert "/ui/sign-in#" in baton("open")
