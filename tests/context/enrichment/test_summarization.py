"""Recent work in a project, from a developer's own records only, reported to a session once."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.context.enrichment import recent_work
from baton.context.enrichment.handler import EnrichmentPrompt
from baton.context.enrichment.recent_work import read
from baton.context.enrichment.summarization import Summarization, worded
from baton.records.pipeline import store as decisions
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from tests.support.records import record

ANN = Principal(organisation="default", team="t", user="ann")
LONG_AGO = datetime.now(UTC) - timedelta(days=3)
REFUSED = {"decision": "block", "effect": "deny", "rules": (RuleHit(id="git/force-push", effect="deny"),)}


def call(tool, **fields):
    return record(**{"project": "shop", "session_id": "s", "tool": tool, "outcome": "ran"} | fields)


RECORDS = [
    call("Edit", paths=("src/cart.py",)),
    call("Edit", paths=("src/cart.py", "src/tax.py")),
    call("Write", paths=("src/denied.py",), decision="block"),
    call("Edit", paths=("src/failed.py",), outcome="failed"),
    call("Read", paths=("src/only-read.py",)),
    call("Bash", command="pytest tests/cart -q", outcome="ran"),
    call("Bash", command="cd web && npm test", outcome="failed"),
    call("Bash", command="pytest tests/cart -q", outcome="failed"),
    call("Bash", command="git push --force", **REFUSED),
    call("Edit", paths=("other.py",), project="bank"),
    call("Edit", paths=("bobs.py",), user="bob"),
    call("Edit", paths=("acme.py",), organisation="acme"),
]


@pytest.fixture
async def stored(database):
    await decisions.add(database, RECORDS)
    return database


async def test_the_summary_lists_edits_tests_and_refusals(stored):
    work = await read(stored, ANN, "shop", LONG_AGO)
    assert [(one.name, one.times) for one in work.edited] == [("src/cart.py", 2), ("src/tax.py", 1)]
    assert [(one.name, one.state) for one in work.tested] == [
        ("pytest tests/cart -q", "failed"), ("cd web && npm test", "failed"),
    ]  # fmt: skip
    assert [(one.name, one.state) for one in work.refused] == [("git push --force", "git/force-push")]
    text = worded(work, max(one.at for one in RECORDS))
    assert text.splitlines()[0].startswith("- Tests: `pytest tests/cart -q` (failed, just now)")
    assert "- Refused: `git push --force` (by `git/force-push`, just now)" in text


@pytest.mark.parametrize(("who", "project"), [("bob", "shop"), ("ann", "bank"), ("eve", "shop")])
async def test_one_sees_one_s_own_records_of_the_project_only(stored, who, project):
    work = await read(stored, Principal(organisation="default", team="t", user=who), project, LONG_AGO)
    named = {one.name for part in work.parts for one in part}
    assert named == {"bob": {"bobs.py"}, "eve": set(), "ann": {"other.py"}}[who]


async def test_work_of_long_ago_is_not_recent(stored):
    assert (await read(stored, ANN, "shop", datetime.now(UTC) + timedelta(hours=1))).facts == ()


async def test_the_number_of_read_calls_is_limited(stored, monkeypatch):
    monkeypatch.setattr(recent_work, "NEWEST", 3)
    assert {one.name for one in (await read(stored, ANN, "shop", LONG_AGO)).tested} == {"pytest tests/cart -q"}


def test_test_commands_are_distinguished():
    runs = [
        "pytest", "FOO=1 .venv/bin/pytest -x", "python -m pytest tests", "npm run test:unit", "npm test", "go test ./...",
        "cargo test", "make check", "./gradlew test", "yarn -s test", "dotnet test", "bundle exec rspec",
    ]  # fmt: skip
    others = [
        "ls",
        "cat pytest.ini",
        "npm install jest-cli",
        "git commit -m 'add test'",
        "make",
        "go build",
        "vim test.py",
    ]
    assert [line for line in runs if not recent_work._TESTS.search(line)] == []
    assert [line for line in others if recent_work._TESTS.search(line)] == []


def prompt(session="s", text="go on", **more):
    return EnrichmentPrompt(text=text, principal=ANN, project="shop", session_id=session, **more)


async def test_a_session_gets_only_new_lines(stored, redis):
    handler = Summarization(stored, redis)
    first = await handler.enrich(prompt())
    assert "src/cart.py" in first.text
    assert (await handler.enrich(prompt())).text == ""
    assert (await handler.enrich(prompt("other"))).text == first.text
    await decisions.add(stored, [call("Edit", paths=("src/new.py",))])
    assert "src/new.py" in (await handler.enrich(prompt())).text
    handler.forget(ANN, "s")
    assert "src/new.py" in (await handler.enrich(prompt())).text


async def test_a_model_may_shorten_the_summary_or_the_lines_stay(stored, redis):
    handler = Summarization(stored, redis)
    asked = []

    def model(answer):
        async def shorten(text, timeout_s):
            asked.append((text, timeout_s))
            return answer

        return shorten

    await decisions.add(stored, [call("Edit", paths=(f"src/very/long/name/of/{n}.py",)) for n in range(9)])
    await decisions.add(
        stored, [call("Bash", command=f"pytest tests/{n} -q -x --maxfail 1 -k 'a b c'") for n in range(3)]
    )
    handler.use_model(model(("Cart tests fail.", "small")))
    said = await handler.enrich(prompt("a"))
    assert (said.text, said.model_used, said.fallback_used) == ("Cart tests fail.", "small", False)
    assert said.tokens_saved > 0
    assert asked[0][1] <= 0.12
    for number, answer in enumerate([None, ("", "small"), ("long " * 500, "small")]):
        handler.use_model(model(answer))
        said = await handler.enrich(prompt(f"b{number}"))
        assert said.fallback_used
        assert said.text == asked[0][0]
