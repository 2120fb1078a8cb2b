from typing import get_args

from baton.clients.event import EventName
from baton.clients.registry import CLIENTS, SPECS
from tests.e2e.record import CLAUDE_EVENTS
from tests.support.cases import every

ALL_OF_CLAUDE_CODE = 34
"""Event names in the bundle of 2.1.332."""


def test_every_event_of_claude_code_is_used_or_left_out_on_purpose():
    listed = [one.native for one in SPECS["claude-code"].events]
    assert len(listed) == len(set(listed)) == ALL_OF_CLAUDE_CODE
    assert set(CLAUDE_EVENTS.split()) <= set(listed)
    assert all(one.why for spec in SPECS.values() for one in spec.events)


def test_events_have_only_names_that_baton_knows():
    assert {one.name for spec in SPECS.values() for one in spec.events if one.name} <= set(get_args(EventName))


@every("client", CLIENTS)
def test_an_event_of_another_client_means_nothing(client):
    others = {one.name for spec in SPECS.values() for one in spec.events} - set(SPECS[client].names.values())
    for name in (*filter(None, others), "Invented"):
        assert (
            CLIENTS[client].read({"hook_event_name": name, "session_id": "s", "event": name}, name).name == "other"
        ), name
