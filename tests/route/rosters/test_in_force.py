"""Rosters on two servers of one database: one follows the other's changes; indexes are cached and bounded."""

import asyncio

import msgspec
import pytest

from baton.kernel.changes.announce import Changes
from baton.lib.router.agents import Agent
from baton.policies.in_force import Policies
from baton.route.prompt import InlineRoster, Prompt
from baton.route.rosters import indexes as module
from baton.route.rosters import store
from baton.route.rosters.agents import digest_of
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.route.rosters.roster import NewVersion
from baton.route.rosters.service import PushedRosters, key_of
from baton.rules.call.call import Principal

LEAD = Principal(user="lea", role="lead", team="red")
TOMATO = Agent(name="alpha", description="Tends tomatoes.")
BICYCLE = Agent(name="beta", description="Repairs bicycles.")


class Server:
    def __init__(self, database, redis, folder):
        self.changes = Changes(redis, database, "default")
        self.indexes = Indexes()
        policies = Policies(folder, folder / "none", database, "default")
        self.in_force = RoutingRosters(database, self.changes, policies, self.indexes, "default")
        self.rosters = PushedRosters(self.changes, self.in_force)

    async def catch_up(self):
        await self.changes.catch_up()
        await self.in_force.settled()

    async def push(self, *agents, name="ours", tier="team", who=LEAD):
        return await self.rosters.push(who, key_of(who, tier, "", name), NewVersion(agents=agents))

    async def names(self, who=LEAD, **more):
        found = await self.in_force.index_for(Prompt(text="x", principal=who, **more))
        return sorted(found.index.names), found.homes


@pytest.fixture
async def servers(database, redis, tmp_path):
    (tmp_path / "config.yaml").write_text("agent_tools: [Task]\n")
    both = [Server(database, redis, tmp_path) for _ in range(2)]
    for one in both:
        await one.in_force.load()
    return both


async def test_another_server_follows_a_push_a_second_one_and_a_removal(servers):
    one, other = servers
    await one.push(TOMATO)
    await other.catch_up()
    assert (await other.names())[0] == ["alpha"]
    await one.push(TOMATO, BICYCLE)
    await other.catch_up()
    assert (await other.names())[0] == ["alpha", "beta"]
    assert other.indexes.cached(digest_of([TOMATO, BICYCLE])) is not None
    await other.rosters.remove(LEAD, key_of(LEAD, "team", "", "ours"))
    await one.catch_up()
    assert one.in_force.pushed(LEAD) == []


async def test_a_push_and_a_removal_are_followed_without_reading_other_rosters(servers, monkeypatch):
    one, other = servers
    await one.push(BICYCLE, name="yard")
    await one.catch_up()
    await other.catch_up()
    monkeypatch.setattr(store, "active", None)
    await one.push(TOMATO)
    await other.catch_up()
    assert (await other.names())[0] == (await one.names())[0] == ["alpha", "beta"]
    await other.rosters.remove(LEAD, key_of(LEAD, "team", "", "ours"))
    await one.catch_up()
    assert [each.name for each in one.in_force.pushed(LEAD)] == ["yard"]


async def test_a_team_s_rosters_share_one_index_with_each_agent_s_place(servers):
    one, _ = servers
    admin = Principal(user="ada", role="admin", team="blue")
    await one.push(TOMATO, name="garden")
    await one.push(BICYCLE, msgspec.structs.replace(TOMATO, description="Other."), name="yard")
    await one.push(Agent(name="gamma"), name="garden", tier="organisation", who=admin)
    assert await one.names() == (["alpha", "beta"], {"alpha": "garden", "beta": "yard"})
    assert (await one.names(roster="yard"))[0] == ["alpha", "beta"]
    assert (await one.names(admin))[0] == ["gamma"]


async def test_a_roster_is_indexed_before_it_is_active(servers, monkeypatch):
    one, other = servers
    await one.push(TOMATO, name="garden")
    await one.push(BICYCLE, name="yard")
    await other.catch_up()
    monkeypatch.setattr(RoutingRosters, "agents_of", None)
    assert (await one.names())[0] == (await other.names())[0] == ["alpha", "beta"]


async def test_the_organisation_s_rosters_are_indexed_together_for_teams_without_their_own(servers, monkeypatch):
    one, _ = servers
    admin = Principal(user="ada", role="admin", team="blue")
    await one.push(Agent(name="gamma"), name="other", tier="organisation", who=admin)
    await one.push(BICYCLE, name="all", tier="organisation", who=admin)
    monkeypatch.setattr(RoutingRosters, "agents_of", None)
    assert (await one.names(Principal(team="green")))[0] == ["beta", "gamma"]


async def test_a_session_that_starts_has_the_index_made_that_its_prompts_need(servers):
    one, other = servers
    await one.push(TOMATO)
    await other.catch_up()
    fresh = other.in_force._indexes = Indexes()
    assert (fresh.words, fresh.cached(digest_of([TOMATO]))) == ("unread", None)
    other.in_force.warm(LEAD)
    await asyncio.gather(*other.in_force._warming)
    assert fresh.words == "loaded"
    assert fresh.cached(digest_of([TOMATO])) is not None


async def test_an_inline_roster_is_indexed_once_and_the_oldest_indexes_go_first(servers, monkeypatch):
    one, _ = servers
    monkeypatch.setattr(module, "MOST_AGENTS", 4)

    def inline(number):
        raw = msgspec.json.encode([{"name": f"a{number}"}, {"name": f"b{number}"}])
        return InlineRoster(raw, f"digest{number}")

    first, again = [
        (await one.in_force.index_for(Prompt(text="x", principal=LEAD, inline=inline(0)))).index for _ in range(2)
    ]
    assert first is again
    for number in (1, 2):
        await one.names(inline=inline(number))
    assert one.indexes.cached("digest0") is None
    assert one.indexes.cached("digest1") is not None
