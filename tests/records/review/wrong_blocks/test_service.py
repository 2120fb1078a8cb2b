"""Visibility of wrong blocks, and permission to answer them."""

from datetime import UTC, datetime

import msgspec
import pytest
from uuid_utils import uuid7

from baton.kernel.base.errors import Forbidden, NotFound, PreconditionFailed
from baton.people.users import RowScope
from baton.records.pipeline import store as decisions
from baton.records.review import wrong_blocks as wrong_blocks_store
from baton.records.review.decisions import Decisions
from baton.records.review.wrong_blocks import WrongBlock, WrongBlocks
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from tests.support.excepting import Process, record
from tests.support.http_calls import ok, refused

ADMIN = Principal(user="ada", role="admin")
LEAD = Principal(user="lea", role="lead", team="red")
OTHER_LEAD = Principal(user="leo", role="lead", team="blue")
DORA = Principal(user="dora", team="red")


@pytest.fixture
async def process(database, redis, tmp_path):
    one = Process(database, redis, tmp_path)
    for name in ("red", "blue"):
        await one.users.put_team(ADMIN, name)
    for name, of in (("dora", "red"), ("lea", "red"), ("bob", "blue")):
        await one.users.put_user(ADMIN, name, team=of, disabled=False)
    return one


async def test_a_lead_sees_and_answers_the_reports_of_their_team_alone(process, database):
    decided = record(decision="block", effect="deny")
    await decisions.add(database, [decided])
    reports = WrongBlocks(database, process.changes, Decisions(database))
    made = await reports.make(DORA, decided.id, "c")
    assert await reports.search(LEAD) == [made]
    assert await reports.search(OTHER_LEAD) == []
    with pytest.raises(NotFound):
        await reports.resolve(OTHER_LEAD, made.id, state="declined", answer="", version="*")
    with pytest.raises(Forbidden):
        await reports.resolve(DORA, made.id, state="accepted", answer="", version="*")
    answered = await reports.resolve(LEAD, made.id, state="accepted", answer="yes", version="1")
    assert (answered.state, answered.resolved_by, answered.version) == ("accepted", "lea", 2)
    with pytest.raises(PreconditionFailed, match='"2"'):
        await reports.resolve(LEAD, made.id, state="declined", answer="no", version="1")
    assert (await reports.resolve(LEAD, made.id, state="open", answer="", version="2")).resolved_at is None


@pytest.mark.parametrize(
    ("effects", "named"),
    [(["guidance", "rewrite"], 1), (["rewrite", "ask"], 1), (["ask", "deny"], 1), (["deny", "deny"], 0), ([], None)],
)
async def test_a_report_names_the_first_rule_of_the_strongest_effect(process, database, effects, named):
    hits = tuple(RuleHit(id=f"team/rule-{number}", effect=effect) for number, effect in enumerate(effects))
    decided = msgspec.structs.replace(record(decision="block", effect="deny"), rules=hits)
    await decisions.add(database, [decided])
    made = await WrongBlocks(database, process.changes, Decisions(database)).make(DORA, decided.id, "c")
    assert made.rule == ("" if named is None else f"team/rule-{named}")


def test_a_report_is_made_listed_and_answered(http, dora, eve, blocked):
    made = ok(dora.post("/reports", json={"decision_id": blocked["id"], "comment": "a one-line fix"}), 201)
    assert (made["rule"], made["state"], made["user"]) == ("orchestrator/direct-edit", "open", "dora")
    path = f"/reports/{made['id']}"
    again = dora.post("/reports", json={"decision_id": blocked["id"]})
    refused(again, 409, "conflict", "already")
    refused(eve.post("/reports", json={"decision_id": blocked["id"]}), 404, "not_found")
    refused(eve.get(path), 404, "not_found")
    assert made in ok(http.get("/reports", params={"rule": made["rule"], "state": "open"}))["items"]
    answer = {"state": "accepted", "answer": "the rule will spare those"}
    refused(dora.put(path, json=answer), 403, "forbidden")
    refused(
        http.put(path, json=answer), 412, "precondition_failed", '`If-Match` is missing; the current version is `"1"`'
    )
    answered = http.put(path, json=answer, headers={"If-Match": '"1"'})
    assert (ok(answered)["state"], answered.headers["etag"]) == ("accepted", '"2"')
    refused(http.put(path, json=answer, headers={"If-Match": '"1"'}), 412, "precondition_failed", '"2"')
    assert ok(dora.get(path))["answer"] == answer["answer"]
    assert ok(dora.get("/reports", params={"state": "accepted"}))["items"][0]["id"] == made["id"]


def test_a_decision_that_is_not_there_cannot_be_reported(dora):
    refused(dora.post("/reports", json={"decision_id": "none"}), 404, "not_found", "`none`")


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALL = RowScope()


def report(**fields):
    given = {"team": "t", "decision_id": str(uuid7()), "rule": "x/y", "user": "ann", "comment": "é", "at": NOON}
    return WrongBlock(id=str(uuid7()), **(given | fields))


async def test_a_report_comes_back_and_a_second_one_of_the_same_decision_is_none(database):
    first = report()
    assert await wrong_blocks_store.add(database, "default", first)
    assert not await wrong_blocks_store.add(database, "default", msgspec.structs.replace(first, id=str(uuid7())))
    assert await wrong_blocks_store.get(database, "default", ALL, first.id) == first
    assert await wrong_blocks_store.get(database, "another", ALL, first.id) is None


@pytest.mark.parametrize(
    ("scope", "seen"),
    [(ALL, "abc"), (RowScope(user="ann"), "a"), (RowScope(user="ann", team="red"), "ab"), (RowScope(team="none"), "")],
)
async def test_reports_are_seen_by_their_user_and_their_team(database, scope, seen):
    for name, user, team in (("a", "ann", "blue"), ("b", "bob", "red"), ("c", "cid", "blue")):
        await wrong_blocks_store.add(database, "default", report(user=user, team=team, comment=name))
    found = await wrong_blocks_store.find_wrong_blocks(database, "default", scope)
    assert {one.comment for one in found} == set(seen)


async def test_reports_are_filtered_and_paged(database):
    for number in range(5):
        await wrong_blocks_store.add(
            database, "default", report(rule="x/y" if number % 2 else "x/z", comment=str(number))
        )
    found = await wrong_blocks_store.find_wrong_blocks(database, "default", ALL, rule="x/z", limit=2)
    assert [one.comment for one in found] == ["4", "2"]
    rest = await wrong_blocks_store.find_wrong_blocks(database, "default", ALL, rule="x/z", before_id=found[-1].id)
    assert [one.comment for one in rest] == ["0"]


async def test_of_two_answers_to_one_version_of_a_report_one_is_stored(database):
    first = report()
    await wrong_blocks_store.add(database, "default", first)
    answer = msgspec.structs.replace(first, state="accepted", answer="yes", version=2)
    async with database.transaction() as connection:
        assert await wrong_blocks_store.replace(connection, "default", answer)
        assert not await wrong_blocks_store.replace(connection, "default", msgspec.structs.replace(answer, answer="no"))
    assert await wrong_blocks_store.get(database, "default", ALL, first.id) == answer
