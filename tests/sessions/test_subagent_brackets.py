"""A sub-agent's calls without the client's mark, on two servers sharing one Redis."""

import pytest

from baton.clients.event import AgentSign, HookEvent
from baton.kernel.redis.client import Redis
from baton.rules.call.call import Principal
from baton.sessions.subagent_brackets import LIFETIME_S, SAME_TURN_MS, UNKNOWN, SubagentBrackets

ANN = Principal(user="ann")
FAR = SAME_TURN_MS + 1
KEYS = "{baton}:subagents:*"


def event(kind, at, agent="", agent_id="", session="s1"):
    sign = AgentSign(kind=kind, at_ms=at, agent=agent, agent_id=agent_id)
    name = "PreToolUse" if kind in {"call", "start"} and not agent_id else "other"
    return HookEvent(client="gemini", name=name, native_name=name, session_id=session, sign=sign)


class Servers:
    """Two servers, of which each second event goes to the other one."""

    def __init__(self, redis):
        self.both = [SubagentBrackets(redis), SubagentBrackets(redis)]

    async def note(self, *events, who=ANN):
        """Return whose the last event is: its agent's id and type."""
        found = ("", "")
        for one in events:
            self.both.reverse()
            placed, missing = await self.both[0].place(who, one)
            await self.both[0].started(who, one)
            assert missing == ()
            found = (placed.agent_id, placed.agent_type)
        return found


@pytest.fixture
def servers(redis):
    return Servers(redis)


START = event("start", 1_000, "generalist")
SUBAGENT = ("generalist-1000", "generalist")
MAIN = ("", "")

CASES = [
    ("no agent was started", [event("call", 1_000)], MAIN),
    ("the agent's first call", [START, event("call", 1_000 + FAR)], SUBAGENT),
    ("a call of the turn that starts it", [START, event("call", 1_000 + SAME_TURN_MS)], MAIN),
    ("a call of that turn that overtook the start", [START, event("call", 1_000 - SAME_TURN_MS)], MAIN),
    ("calls of a long turn, each after the one before",
     [START, event("call", 1_150), event("call", 1_300), event("call", 1_450)], MAIN),
    ("the agent's call after such a turn", [START, event("call", 1_150), event("call", 1_150 + FAR)], SUBAGENT),
    ("the call that starts it is the main agent's", [START], MAIN),
    ("a client that says no time", [event("start", 0, "generalist"), event("call", 0)], ("generalist-0", "generalist")),
    ("after its result", [START, event("call", 2_000), event("end", 3_000, "generalist"), event("call", 4_000)], MAIN),
    ("one of two has ended",
     [START, event("start", 1_020, "x"), event("end", 2_000, "generalist"), event("call", 3_000)],
     ("generalist-1000", "x")),
    ("two at once share a history and have no type",
     [START, event("start", 1_020, "x"), event("call", 3_000)], ("generalist-1000", "")),
    ("two of one name, one ended",
     [START, event("start", 1_020, "generalist"), event("end", 2_000, "generalist"), event("call", 3_000)], SUBAGENT),
    ("the next prompt", [START, event("call", 2_000), event("none", 2_500), event("call", 3_000)], MAIN),
    ("the agent was refused by the client, and the main agent's model is asked",
     [START, event("turn", 1_500), event("call", 3_000)], MAIN),
    ("a model is asked on the agent's behalf", [START, event("call", 2_000), event("turn", 2_500), event("call", 3_000)],
     SUBAGENT),
    ("the agent's first call was one that the client refuses unasked, so that its model is asked again",
     [START, event("turn", 1_500), event("call", 3_000), event("turn", 3_500), event("call", 4_000)], MAIN),
    ("one of two has made a call before the other's model is asked again",
     [START, event("start", 1_020, "x"), event("call", 2_000), event("turn", 2_500), event("call", 3_000)],
     ("generalist-1000", "")),
    ("the request to a model that led to the start comes late", [START, event("turn", 900), event("call", 3_000)],
     SUBAGENT),
    ("the main agent is back if it starts another one, whatever had no end",
     [START, event("call", 2_000), event("start", 5_000, "x"), event("end", 6_000, "x"), event("call", 7_000)], MAIN),
    ("one that says its id",
     [event("start", 1_000, "Explore", "Explore-1"), event("call", 3_000)], ("Explore-1", "Explore")),
    ("another of those starts later",
     [event("start", 1_000, "Explore", "e1"), event("start", 9_000, "Plan", "p1"), event("end", 9_500, "Plan"),
      event("call", 9_900)], ("e1", "Explore")),
    ("an end that nobody started", [event("end", 900, "generalist"), event("call", 3_000)], MAIN),
    ("another session", [START, event("call", 3_000, session="s2")], MAIN),
]  # fmt: skip


@pytest.mark.parametrize(("events", "whose"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
async def test_a_call_belongs_to_its_agent(servers, events, whose):
    assert await servers.note(*events) == whose


async def test_another_person_s_session_of_the_same_name_is_another_one(servers):
    await servers.note(START)
    assert await servers.note(event("call", 3_000), who=Principal(user="bob")) == MAIN


async def test_a_bracket_ends_by_itself_an_hour_after_its_last_call(servers, redis):
    await servers.note(START)
    [key] = await redis.call("KEYS", KEYS)
    await redis.call("EXPIRE", key, 5)
    await servers.note(event("call", 3_000))
    assert LIFETIME_S - 5 <= await redis.call("TTL", key) <= LIFETIME_S


@pytest.mark.parametrize("last", [event("end", 2_000, "generalist"), event("none", 2_000), event("turn", 2_000)])
async def test_nothing_is_left_of_a_bracket_that_ended(servers, redis, last):
    await servers.note(START, last)
    assert await redis.call("KEYS", KEYS) == []


async def test_without_redis_each_call_is_the_main_agent_s_and_reported():
    brackets = SubagentBrackets(Redis("redis://127.0.0.1:1", timeout_s=0.1))
    call = event("call", 3_000)
    await brackets.started(ANN, START)
    await brackets.distrust(ANN, START)
    assert await brackets.place(ANN, call) == (call, UNKNOWN)


@pytest.mark.parametrize("before", [[], [START, event("call", 2_000)]], ids=["none runs", "one runs"])
async def test_no_start_counts_in_a_session_that_is_distrusted(servers, before):
    await servers.note(*before)
    await servers.both[0].distrust(ANN, event("call", 2_500))
    assert await servers.note(event("call", 3_000)) == MAIN
    assert await servers.note(event("none", 3_500), event("start", 4_000, "x"), event("call", 5_000)) == MAIN
    assert await servers.note(event("start", 4_000, "x", session="s2"), event("call", 5_000, session="s2")) != MAIN


async def test_a_refused_start_opens_nothing(servers):
    await servers.both[0].place(ANN, START)
    assert await servers.note(event("call", 3_000)) == MAIN
