"""What of `baton-hook.ps1` can be checked without PowerShell: that it has the words of the other two shims."""

import re

import pytest

from baton.local.hook import answer
from tests.hooks.shim import HOOKS

SCRIPT = (HOOKS / "baton-hook.ps1").read_text()
LIBRARY = (HOOKS / "baton-lib.sh").read_text()
NOT_SENT = {"Baton-Digests", "Baton-Manifest", "Baton-Debug", "Baton-Agents"}
"""It sends no checksums and no agents, and has no debug output."""


def test_it_sends_the_headers_of_the_shim():
    [usual] = re.findall(r'set -- ("User: .*)', LIBRARY)
    wanted = {f"Baton-{name}" for name in re.findall(r'"([A-Z][A-Za-z-]+): ', usual)} | {
        "Baton-Protocol",
        "Authorization",
    }
    wanted |= set(re.findall(r'option header "(Baton-[A-Za-z-]+): ', LIBRARY)) - NOT_SENT
    sent = set(re.findall(r"'(Authorization|Baton-[A-Za-z-]+)'", SCRIPT))
    assert wanted - NOT_SENT <= sent


def test_it_believes_what_the_others_believe():
    [keys] = re.findall(r"\$keys = '([^']+)'", SCRIPT)
    by_shell = re.findall(r"^(?:answer|agent)_keys='([^']+)'", LIBRARY, re.MULTILINE)
    assert set(keys.split("|")) == set("|".join(by_shell).split("|")) == answer._ANSWER_KEYS | answer._AGENT_KEYS


@pytest.mark.parametrize(
    "text", ["BATON IS", "is not checking this session", "refused, because the server at", "Baton dropped an answer"]
)
def test_it_says_what_the_others_say(text):
    assert (text in SCRIPT) is (text in LIBRARY)


def test_its_brackets_are_closed_and_it_refuses_by_no_exit_code():
    code = re.sub(r"'[^'\n]*'|\"(?:`.|[^\"\n])*\"|#.*", "", SCRIPT)
    for opened, closed in ("()", "{}", "[]"):
        assert code.count(opened) == code.count(closed)
    assert set(re.findall(r"exit (\d)", code)) == {"0"}
