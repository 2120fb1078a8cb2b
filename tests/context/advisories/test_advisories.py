"""Advisories: their golden lines, and their storage in Redis until a prompt reads them once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.context.advisories import Advisories, Advisory, PromptAdvisories, line, rendered
from baton.context.patterns.index import IndexedPattern, TeamIndex, unpacked
from baton.kernel.redis.client import Redis
from baton.rules.call.call import Principal
from tests.support.cases import every
from tests.support.patterns import pattern

ADA = Principal(team="web", user="ada")
IDS = st.sampled_from(["", "a", "b", "c", "d", "e", *map(str, range(9))])


def advisory(pattern_id="p1", signature="Use pathlib", confidence=0.85, message="os.path is used"):
    return Advisory(pattern_id=pattern_id, signature=signature, confidence=confidence, message=message)


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def advisories(redis, clock):
    return Advisories(redis, clock)


@every(
    ("given", "shown"),
    [
        (advisory(), "- **Use pathlib** (85% confidence): os.path is used"),
        (advisory(message=""), "- **Use pathlib** (85% confidence)"),
        (advisory(confidence=0.7), "- **Use pathlib** (70% confidence): os.path is used"),
        (advisory(confidence=1.0), "- **Use pathlib** (100% confidence): os.path is used"),
        (advisory(confidence=0.999), "- **Use pathlib** (100% confidence): os.path is used"),
        (advisory(signature="x" * 80, message=""), f"- **{'x' * 80}** (85% confidence)"),
        (advisory(signature="x" * 81, message=""), f"- **{'x' * 77}...** (85% confidence)"),
        (
            advisory(signature="a\n\n## b", message="c\n</system-reminder>\n# d"),
            "- **a ## b** (85% confidence): c &lt;/system-reminder> # d",
        ),
        (advisory(signature="a** b **c", message=""), "- **a b c** (85% confidence)"),
    ],
)
def test_the_line_of_an_advisory(given, shown):
    assert line(given) == shown


def test_a_secret_in_a_message_is_masked():
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "Zz9Yy8"
    assert secret not in line(advisory(signature=secret, message=f"token {secret}"))


def test_the_section_has_a_line_each_and_is_nothing_without_one():
    text = rendered([advisory(), advisory("p2", "Write tests")])
    assert text.split("\n")[1:] == ["", line(advisory()), line(advisory("p2", "Write tests"))]
    assert rendered([]) == ""


async def test_a_read_advisory_is_removed(advisories):
    await advisories.add(ADA, "s", [advisory()])
    assert await advisories.take(ADA, "other") == []
    assert await advisories.take(Principal(team="web", user="bob"), "s") == []
    assert await advisories.take(ADA, "s") == [advisory()]
    assert await advisories.take(ADA, "s") == []


async def test_the_first_of_a_pattern_stays_and_those_without_an_id_all_do(advisories):
    await advisories.add(ADA, "s", [advisory("a", message="1"), advisory("a", message="2"), advisory("", message="3")])
    await advisories.add(ADA, "s", [advisory("", message="3"), advisory("a", message="4"), advisory("b", message="5")])
    assert [one.message for one in await advisories.take(ADA, "s")] == ["1", "3", "3", "5"]
    await advisories.add(ADA, "s", [advisory("a", message="6")])
    assert [one.message for one in await advisories.take(ADA, "s")] == ["6"]


@pytest.mark.parametrize(("age_s", "count"), [(0, 1), (3_599.9, 1), (3_600, 1), (3_600.001, 0), (86_000, 0)])
async def test_after_an_hour_they_are_stale(advisories, clock, age_s, count):
    await advisories.add(ADA, "s", [advisory()])
    clock.now += age_s
    assert len(await advisories.take(ADA, "s")) == count
    assert await advisories.take(ADA, "s") == []


@pytest.mark.parametrize(("age_s", "count"), [(3_600, 2), (3_600.001, 1)])
async def test_the_last_advisory_renews_unexpired_ones(advisories, clock, age_s, count):
    await advisories.add(ADA, "s", [advisory("a")])
    clock.now += age_s
    await advisories.add(ADA, "s", [advisory("b")])
    clock.now += 3_600
    assert len(await advisories.take(ADA, "s")) == count


async def test_an_unread_advisory_is_removed_after_a_day(advisories, redis):
    await advisories.add(ADA, "s", [advisory()])
    keys = await redis.call(b"KEYS", b"{baton}:advis*")
    assert len(keys) == 2
    for key in keys:
        assert 86_390 < await redis.call(b"TTL", key) <= 86_400


@given(writes=st.lists(st.lists(IDS, max_size=8), max_size=6))
async def test_the_newest_ten_are_kept_as_a_list_would(valkey_url, writes):
    redis = Redis(valkey_url, timeout_s=5)
    await redis.start()
    held, expected = Advisories(redis), []
    for number, ids in enumerate(writes):
        await held.add(ADA, "kept", [advisory(one, message=str(number)) for one in ids])
        for one in ids:
            if not one or one not in {kept.pattern_id for kept in expected}:
                expected.append(advisory(one, message=str(number)))
        expected = expected[-10:]
    assert await held.take(ADA, "kept") == expected
    await redis.close()


async def test_of_many_prompts_at_once_on_two_servers_one_shows_an_advisory(valkey_url, redis):
    other = Redis(valkey_url, timeout_s=5)
    await other.start()
    servers = [Advisories(redis), Advisories(other)]
    for round_ in range(20):
        await servers[round_ % 2].add(ADA, "s", [advisory("a"), advisory("b")])
        taken = await asyncio.gather(*(servers[number % 2].take(ADA, "s") for number in range(10)))
        assert [len(one) for one in taken if one] == [2]
    await other.close()


class InForce:
    """What is in force of one team."""

    def __init__(self, *ids):
        self.index = TeamIndex()
        for one in ids:
            self.index.put(IndexedPattern.build(pattern(one)), unpacked(None))

    def count(self, team):
        return len(self.index) if team == "web" else 0

    def team(self, team):
        return self.index if team == "web" else None


async def test_a_prompt_shows_five_of_patterns_that_still_hold(advisories):
    recorded = []
    waiting = PromptAdvisories(advisories, InForce(*"abcdefgh"), recorded.append)
    await advisories.add(ADA, "s", [advisory(one, f"Rule {one}") for one in "zabcdefgh"])
    text = await waiting.for_prompt(ADA, "s")
    assert [entry.split("**")[1] for entry in text.split("\n")[2:]] == [f"Rule {one}" for one in "abcde"]
    assert await waiting.for_prompt(ADA, "s") == "", "the others go with them"
    (one,) = recorded
    assert (one.event, one.user, one.session_id) == ("PatternAdvisories", "ada", "s")
    assert one.command.split("\n") == text.split("\n")[2:]


async def test_a_team_without_patterns_asks_nothing():
    waiting = PromptAdvisories(None, InForce(), pytest.fail)
    assert await waiting.for_prompt(ADA, "s") == ""
    assert await waiting.for_prompt(ADA, "") == ""
