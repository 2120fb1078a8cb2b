"""The list and the stream of decisions take the same filters: SQL and `matches` must agree on each of them."""

from datetime import UTC, datetime

from baton.people.users import RowScope
from baton.records.pipeline import search, store
from baton.records.pipeline.store import Filters
from baton.rules.call.verdict import RuleHit
from tests.support.cases import every, listed
from tests.support.records import record

LONG = "x" * 300
RECORDS = {
    "read": record(tool="Read", paths=("src/A B.py", 'C:\\tmp\\"q".txt'), revision="r1", session_id="s"),
    "bash": record(tool="Bash", command="rm -rf 100%_done", agent_type="Explore", effect="deny", decision="block"),
    "eve": record(user="eve", team="other", project="p" * 900, rules=(RuleHit("a/b", "deny"), RuleHit("c/d", "shadow"))),
    "two": record(
        user="zoe", team="z", tool="Edit",
        rules=(RuleHit("c/d", "shadow"), RuleHit("c/e", "shadow"), RuleHit("c/f", "guidance")),
    ),
    "off": record(user="bob", overridden=True, agent_id="a1", outcome="ran", session_id=LONG[:200]),
    "other": record(organisation="other", tool="Read"),
}  # fmt: skip
FILTERS = [
    (Filters(), {"read", "bash", "eve", "two", "off"}),
    (Filters(user="ann"), {"read", "bash"}),
    (Filters(scope=RowScope(user="ann")), {"read", "bash"}),
    (Filters(scope=RowScope(user="ann", team="t")), {"read", "bash", "off"}),
    (Filters(scope=RowScope(user="eve", team="t")), {"read", "bash", "eve", "off"}),
    (Filters(session_id="s"), {"read"}),
    (Filters(session_id=LONG), {"off"}),
    (Filters(agent_id="a1"), {"off"}),
    (Filters(agent_type="Explore"), {"bash"}),
    (Filters(tool="Read"), {"read"}),
    (Filters(tool="read"), set()),
    (Filters(effect="deny"), {"bash"}),
    (Filters(effect="shadow"), {"eve", "two"}),
    (Filters(effect="shadow", rule="a/b"), {"eve"}),
    (Filters(effect="shadow", user="eve"), {"eve"}),
    (Filters(effect="lifted"), set()),
    (Filters(effect="guidance"), {"two"}),
    (Filters(tool="shadow"), set()),
    (Filters(decision="block"), {"bash"}),
    (Filters(outcome="ran"), {"off"}),
    (Filters(rule="a/b"), {"eve"}),
    (Filters(rule="c/d", user="ann"), set()),
    (Filters(rule="a"), set()),
    (Filters(project="p" * 900), {"eve"}),
    (Filters(revision="r1"), {"read"}),
    (Filters(overridden=True), {"off"}),
    (Filters(overridden=False), {"read", "bash", "eve", "two"}),
    (Filters(q="READ"), {"read"}),
    (Filters(q="a b.py"), {"read"}),
    (Filters(q='\\"q"'), {"read"}),
    (Filters(q="C:\\tmp"), {"read"}),
    (Filters(q="0%_D"), {"bash"}),
    (Filters(q="%"), {"bash"}),
    (Filters(q="a_b"), set()),
    (Filters(q="RM", user="eve"), set()),
    (Filters(q="\0"), set()),
    (Filters(since=datetime(2100, 1, 1, tzinfo=UTC)), set()),
    (Filters(until=datetime(2100, 1, 1, tzinfo=UTC)), {"read", "bash", "eve", "two", "off"}),
    (Filters(until=datetime(2020, 1, 1, tzinfo=UTC)), set()),
]


def test_a_filter_matches_what_is_wanted():
    wrong = [
        f"{wanted}: {found}"
        for wanted, names in FILTERS
        if (found := {name for name, one in RECORDS.items() if store.matches(one, "default", wanted)}) != names
    ]
    assert not wrong, listed(wrong, "`matches` finds other records")


async def test_sql_finds_the_same(database):
    await store.add(database, list(RECORDS.values()))
    names = {one.id: name for name, one in RECORDS.items()}
    wrong = []
    for wanted, expected in FILTERS:
        found, _ = await store.find_records(database, "default", wanted)
        if {names[one.id] for one in found} != expected:
            wrong.append(f"{wanted}: {[names[one.id] for one in found]}")
    assert not wrong, listed(wrong, "`find` finds other records")


@every("text", ["ABC", "Ä", "İ"])
def test_lowering_keeps_what_is_not_ascii(text):
    assert len(search._lowered(text)) == len(text)
