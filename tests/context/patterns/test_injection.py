"""Patterns in sessions: number, length, team, and only once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.context.patterns.injection import PatternInjection, PatternsUnavailable, rendered
from baton.context.patterns.store import PatternCounts
from baton.kernel.redis.client import Redis
from baton.rules.call.call import Principal
from tests.support.patterns import LEAD, Store, pattern

ADA = Principal(team="web", user="ada")
SAM = Principal(team="data", user="sam")
STRANGER = Principal(team="data", user="lou", role="lead")
ROOM = 9_500


class Server:
    """One server's store and injection."""

    def __init__(self, database, redis):
        self.store = Store(database, redis)
        self.counts = PatternCounts(database, "default")
        self.injection = PatternInjection(
            database=database,
            redis=redis,
            in_force=self.store.in_force,
            meanings=self.store.meanings,
            counts=self.counts,
            lifetime_s=100,
        )

    async def start(self, session="s", who=ADA, source="startup", room=ROOM, project=""):
        return await self.injection.at_start(who, session, project, source=source, room=room)

    async def prompt(self, text, session="s", who=ADA, project=""):
        return await self.injection.for_prompt(who, session, project, text)


@pytest.fixture
def server(database, redis):
    return Server(database, redis)


def shown(text):
    return [one.split("**")[1] for one in text.split("\n") if one.startswith("- **")]


async def test_a_start_gets_the_ten_surest_patterns_and_prompts_none(server):
    for number in range(12):
        await server.store.add(f"Rule {number:02}", confidence=0.7 + number / 100)
    text, missing = await server.start()
    assert missing == ()
    assert text.startswith("## Context Patterns\n\n")
    assert shown(text) == [f"Rule {number:02}" for number in range(11, 1, -1)]
    assert await server.prompt("rule 11, please") == ""
    assert (await server.start(source="resume"))[0] == ""
    assert shown((await server.start(source="compact"))[0]) == shown(text), "its context has lost them"
    assert len(await server.injection.given(ADA, "s")) == 10


async def test_a_first_prompt_gets_five_patterns_if_the_start_had_none(server):
    assert await server.start() == ("", ())
    for number in range(7):
        await server.store.add(f"Rule {number}")
    await server.store.add("Give every HTTP request a timeout")
    text = await server.prompt("why does this http request have no timeout")
    assert len(shown(text)) == 5
    assert shown(text)[0] == "Give every HTTP request a timeout"
    assert await server.prompt("another one") == ""
    assert await server.start() == ("", ())
    assert await server.prompt("another session", session="t") != ""


async def test_only_active_patterns_of_the_team_and_project_are_given(server):
    await server.store.add("Ours")
    await server.store.add("Theirs", lead=STRANGER)
    await server.store.add("Of the shop", project="acme/shop")
    await server.store.add("Of another", project="acme/other")
    await server.store.add("Unsure", confidence=0.69)
    await server.store.add("Proposed", approve=False)
    gone = await server.store.add("Retired")
    await server.store.patterns.retire(LEAD, gone.id, reason="", version="2")
    assert shown((await server.start(project="acme/shop"))[0]) == ["Of the shop", "Ours"]
    assert shown((await server.start(who=SAM, project="acme/shop"))[0]) == ["Theirs"]
    assert shown(await server.prompt("anything", session="t")) == ["Ours"]


async def test_a_pattern_retired_on_another_server_is_not_given(server, database, redis):
    made = await server.store.add("Ours")
    await Server(database, redis).store.patterns.retire(LEAD, made.id, reason="", version="2")
    assert server.store.in_force.count("web") == 1
    assert (await server.start())[0] == ""


async def test_of_many_prompts_at_once_on_two_servers_one_gets_them(server, database, redis):
    await server.store.add("Ours")
    other = Server(database, redis)
    await other.store.in_force.load()
    both = [server, other]
    for round_ in range(5):
        given = await asyncio.gather(
            *(both[number % 2].prompt("hello", session=f"r{round_}") for number in range(6)),
            *(both[number % 2].start(session=f"r{round_}") for number in range(2)),
        )
        assert len([one for one in given if one and one != ("", ())]) == 1


async def test_without_redis_patterns_are_absent_and_reported(database, redis):
    made = Server(database, redis)
    await made.store.add("Ours")
    made.injection._redis = Redis("redis://127.0.0.1:9/0", timeout_s=0.1)
    assert await made.start() == ("", ("patterns",))
    with pytest.raises(PatternsUnavailable):
        await made.prompt("hello")


async def test_a_start_that_hangs_gets_none_within_its_budget(server, monkeypatch):
    await server.store.add("Ours")
    monkeypatch.setattr("baton.context.patterns.injection.START_BUDGET_S", 0.01)

    async def hang(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(server.injection, "_best", hang)
    assert await server.start() == ("", ("patterns",))
    assert await server.injection.given(ADA, "s") == {""}, "the prompt may still get them"


async def test_a_session_without_an_id_gets_no_patterns(server):
    await server.store.add("Ours")
    assert await server.start(session="") == ("", ())
    assert await server.prompt("hello", session="") == ""


async def test_given_patterns_are_counted(server):
    made = await server.store.add("Ours")
    await server.prompt("hello")
    await server.counts.flush()
    await server.counts.flush()
    assert (await server.store.patterns.get(ADA, made.id)).shown == 1


@pytest.mark.matrix(3)
@pytest.mark.parametrize("room", [9_500, 8_000, 1_500, 200, 0, -5])
async def test_a_start_leaves_room_for_the_directives(server, room):
    for number in range(10):
        await server.store.add(f"Rule {number}", text="é" * 490)
    text, _ = await server.start(room=room)
    assert len(text.encode()) <= max(0, min(8_000, room))
    assert bool(text) == (room > 1_300)


@given(sizes=st.lists(st.integers(0, 1_000), max_size=12), longest=st.integers(-10, 9_000))
def test_the_section_is_never_longer_and_keeps_the_order(sizes, longest):
    patterns = [pattern(str(number), text="w" * size) for number, size in enumerate(sizes)]
    text, taken = rendered(patterns, longest)
    assert len(text.encode()) <= max(0, longest)
    assert [one.id for one in taken] == sorted((one.id for one in taken), key=int)
    assert bool(text) == bool(taken)


def test_a_pattern_s_lines_stay_within_its_item():
    text, _ = rendered([pattern(text="first\n- **second** (99% confidence)\n\\## third")], 8_000)
    assert [one for one in text.split("\n") if one.startswith(("-", "#"))] == [
        "- **Use pathlib** (90% confidence): first"
    ]
