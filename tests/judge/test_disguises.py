"""The disguises of `disguises.py`: the shipped policies stop every target in each, and those of the shell's own run in a real bash."""

import itertools

import pytest

from tests.judge.disguises import FLOWS, disguised
from tests.judge.run import missed
from tests.judge.wrappings import TARGETS
from tests.lines.corpus import judged, of_line
from tests.support.cases import listed
from tests.support.shipped import shipped

pytestmark = pytest.mark.slow("disguises every line")

HARMLESS = ("echo done", "ls -la src", "git status")


def test_every_disguise_of_a_removal_is_stopped():
    let = {repr(one.line): one.indirection for one, was in missed(shipped(), disguised(TARGETS[:1])) if was}
    assert not let, listed(let)


@pytest.mark.slow("judges 1,700 lines")
def test_every_disguise_of_every_target_is_stopped():
    let = {repr(one.line): one.target.kind for one, was in missed(shipped(), disguised()) if was}
    assert not let, listed(let)


def test_a_harmless_command_is_never_refused_for_its_disguise():
    policies = shipped()
    refused = {}
    for command, (name, make) in itertools.product(HARMLESS, FLOWS.items()):
        verdict = judged(policies, of_line(make(command)))
        if verdict.effect == "deny":
            refused[f"{name}: {make(command)}"] = verdict.rule
    assert not refused, listed(refused)
