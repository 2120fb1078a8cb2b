"""A request is found in any spelling, and with bounded work."""

from baton.lib.text.urls import urls
from tests.support.cases import every

FOUND = [
    ("http://127.0.0.1:8080/mode", ["127.0.0.1:8080/mode"]),
    ("HTTPS://Ann:pw@Host.Example/mode?scope=user#x", ["host.example/mode"]),
    ("http://h/{mode}", ["h/mode"]),
    ("http://{a,b}/m[n-p]", ["a/mn", "a/mo", "a/mp", "b/mn", "b/mo", "b/mp"]),
    ("http://h/%6dode", ["h/mode"]),
    ("http://h/%256dode", ["h/mode"]),
    ("http://h/a/../mode", ["h/mode"]),
    ("http://h//mode/.", ["h/mode"]),
    ("localhost:8080/mode", ["localhost:8080/mode"]),
    ("localhost/mode", ["localhost/mode"]),
    (":8080/mode", [":8080/mode"]),
    ("[::1]:8080/mode", ["[::1]:8080/mode"]),
    ("--url=http://h/mode", ["h/mode"]),
    ("$BATON_URL/mode", ["$baton_url/mode"]),
    ("${BATON_URL}/mode", ["${baton_url}/mode"]),
    ("fetch('http://h/mode',{method:'PUT'})", ["h/mode"]),
    ("c.request('PUT', '/mode', '{}')", ["/mode"]),
    ("PUT /mode HTTP/1.1\\r\\n", ["/mode"]),
    ("app/mode", []),
    ("git@github.com:team/app.git", []),
    ("INPUT /mode", []),
    ("a text without any", []),
]


@every(("text", "found"), FOUND, ids=[row[0] for row in FOUND])
def test_a_url_is_found_in_each_spelling(text, found):
    assert list(urls(text)) == found


@every("text", ["http://h/" + "{a,b}" * 1_000, "http://h/[!-~]" * 900, "http://" * 9_000, "http://h/x " * 6_000])
def test_the_spellings_of_a_text_are_bounded(text):
    assert len(list(urls(text))) <= 64 * 64


def test_a_text_beyond_measure_is_not_read():
    assert list(urls("http://h/mode" + " " * 70_000)) == []
