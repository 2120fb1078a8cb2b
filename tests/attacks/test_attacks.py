"""Every attack of this folder against a real server: stopped, refused, or listed as out of reach."""

from itertools import groupby

import pytest

from tests.attacks.agent import Agent
from tests.attacks.corpus import STOPPED, calls, out_of_reach
from tests.attacks.openapi import DRESSES, requests
from tests.support.cases import listed
from tests.support.http_calls import ok
from tests.support.server import served

BY_CLASS = {kind: list(found) for kind, found in groupby(calls(), key=lambda call: call.kind)}
ATTACKS = {kind: found for kind, found in BY_CLASS.items() if found[0].want != "harmless"}
HARMLESS = {kind: found for kind, found in BY_CLASS.items() if found[0].want == "harmless"}
RUN = {kind: found for kind, found in ATTACKS.items() if found[0].want in {"refused", "pinned"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests' own: they switch the mode on for the user whom a caller without a name is."""
    with served(tmp_path_factory.mktemp("attacked") / "home") as running:
        yield running


@pytest.fixture
def agent(server):
    one = Agent(server)
    yield one
    one.close()


def let(agent, tried):
    """Return the calls of which something else became than was wanted."""
    wrong = {}
    for call in tried:
        found = agent.calls(call)
        if (found in STOPPED) != (call.want == "stopped"):
            wrong[call.name] = f"{found}, wanted: {call.want}"
    return listed(wrong, "what an agent may not do went through, or the list is out of date") if wrong else ""


def test_the_first_attacks_of_each_class_are_stopped(agent):
    assert not let(agent, [call for kind in ATTACKS.keys() - RUN.keys() for call in ATTACKS[kind][:2]])


@pytest.mark.slow("asks as every client, in every mode")
@pytest.mark.parametrize("kind", [kind for kind in ATTACKS if kind not in RUN])
def test_an_attack_is_stopped_whatever_the_client_and_the_mode(agent, kind):
    assert not let(agent, ATTACKS[kind])


@pytest.mark.slow("starts a program for each line")
@pytest.mark.parametrize("kind", RUN)
def test_attacks_without_a_rule_are_refused_or_without_effect(agent, tmp_path, kind):
    wrong = {
        call.name: found
        for number, call in enumerate(RUN[kind])
        if (found := agent.tries(call, tmp_path / str(number))) not in {"refused", *STOPPED}
    }
    assert not wrong, listed(wrong)


@pytest.mark.matrix(3)
@pytest.mark.parametrize("kind", HARMLESS)
def test_a_harmless_neighbour_is_not_asked_about(agent, kind):
    assert len([call for found in HARMLESS.values() for call in found]) >= 150
    asked = {call.name: found for call in HARMLESS[kind] if (found := agent.asks(call)) != "allowed"}
    assert not asked, listed(asked, "false alarms teach people to press yes")


REQUESTS = requests()


def refused(agent, http, tried):
    """Return what went through of some requests, after a look at the audit log, which has every change."""
    before = ok(http.get("/audit", params={"limit": 1}))["items"]
    wrong = {}
    for one in tried:
        statuses = agent.sends(one)
        changes = [status for status in statuses[1 if one.dress == "behind an event" else 0 :] if status < 300]
        if not statuses or (changes and not one.dress.startswith("GET")):
            wrong[f"{one.operation}, {one.dress}"] = statuses
    assert ok(http.get("/audit", params={"limit": 1}))["items"] == before
    return wrong


def test_an_operation_of_a_person_is_refused_to_an_agent(agent, http):
    plain = [one for one in REQUESTS if one.dress == "plain"]
    assert len(plain) > 30
    assert {one.operation: agent.sends(one) for one in plain} == {one.operation: [403] for one in plain}


@pytest.mark.slow("sends each operation in each dress")
@pytest.mark.parametrize("dress", [dress for dress in DRESSES if dress != "plain"])
def test_no_dress_makes_an_agent_a_person(agent, http, dress):
    wrong = refused(agent, http, [one for one in REQUESTS if one.dress == dress])
    assert not wrong, listed(wrong)


def test_there_are_as_many_attacks_as_were_promised():
    assert len([call for found in ATTACKS.values() for call in found]) + len(REQUESTS) >= 600


def test_allowed_attacks_are_rows_of_the_threat_model():
    rows = out_of_reach()
    assert rows
    allowed = [call for found in ATTACKS.values() for call in found if call.want == "allowed"]
    assert {call.row for call in allowed} <= rows.keys()
