import asyncio

import msgspec
import pytest

from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.machines.session_projects import SessionProject
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.outcome import Watch
from baton.sessions.history import MOST_UNDER_WORK_ITEMS, History, Prior
from tests.support.cases import every

ANN = Principal(user="ann")
BOB = Principal(user="bob")


@pytest.fixture
def history(redis):
    return History(redis, ttl_s=3_600)


def call(tool="Read", **fields):
    given = {"client": "claude-code", "session_id": "s1", "tool_input": {}, "cwd": "/w", "project": "p"}
    return ToolCall(tool_name=tool, **(given | fields))


async def names(history, who=ANN, **fields):
    return (await history.begin(who, call("Probe", **fields), "probe")).prior


async def test_a_call_sees_earlier_calls_and_is_appended(history):
    assert await history.begin(ANN, call("Read"), "d1") == Prior(
        prior=(), decision_id="d1", place=SessionProject("p", "/w")
    )
    assert (await history.begin(ANN, call("Grep"), "d2")).prior == ("Read",)
    assert await names(history) == ("Read", "Grep")


@pytest.mark.parametrize(
    ("who", "fields"),
    [
        (BOB, {}),
        (Principal(user="ann", organisation="other"), {}),
        (ANN, {"session_id": "s2"}),
        (ANN, {"session_id": ""}),
        (ANN, {"agent_id": "a1"}),
        (ANN, {"agent_id": "main"}),
    ],
)
async def test_each_user_session_and_agent_has_a_past_of_its_own(history, who, fields):
    await history.begin(ANN, call("Read"), "d")
    assert await names(history, who, **fields) == ()


async def test_parts_of_names_do_not_run_together(history):
    await history.begin(Principal(user="a", organisation="bc"), call(session_id="d"), "x")
    assert await names(history, Principal(user="ab", organisation="c"), session_id="d") == ()
    assert await names(history, Principal(user="a", organisation="b"), session_id="cd") == ()


@pytest.mark.parametrize("text", ["a b", "}{", "x" * 100_000, "new\nline", "nul\0", "é" * 300, "*", "\r\nFLUSHALL\r\n"])
async def test_no_id_breaks_out_of_its_key(history, redis, text):
    who = Principal(user=text, organisation=text)
    given = call(text, session_id=text, agent_id=text, tool_use_id=text, project=text, tool_input={"file_path": text})
    await history.begin(who, given, "d1")
    assert (await history.begin(who, given, "d2")).decision_id == "d1"
    await history.note_edit(who, text, text, text)
    await history.started(who, text, text)
    keys = await redis.call(b"KEYS", b"*")
    assert len(keys) == 6
    assert all(len(key) < 120 for key in keys)


async def test_every_key_has_a_lifetime(history, redis):
    await history.started(ANN, "s1", "t")
    await history.note_edit(ANN, "p", "a.py", "s1")
    await history.begin(ANN, call(tool_use_id="u"), "d")
    keys = await redis.call(b"KEYS", b"*")
    assert len(keys) == 6
    lifetimes = sorted([await redis.call(b"TTL", key) for key in keys])
    assert [0 < lifetime <= 3_600 for lifetime in lifetimes] == [True] * 5 + [False]
    assert lifetimes[-1] <= 86_400  # the note for the call's end: a call may run for a day


async def test_a_session_s_keys_share_a_cluster_slot(history, redis):
    await history.started(ANN, "s1", "t")
    await history.begin(ANN, call(tool_use_id="u"), "d")
    keys = await redis.call(b"KEYS", b"*")
    assert len(keys) == 4
    assert len({key[key.index(b"{") : key.index(b"}")] for key in keys}) == 1


async def test_fifty_names_are_kept(history):
    for number in range(60):
        await history.begin(ANN, call(f"T{number}"), "d")
    assert await names(history) == tuple(f"T{number}" for number in range(10, 60))


async def test_a_call_that_is_refused_anyway_is_only_counted(history, redis):
    await history.begin(ANN, call("Grep"), "d0")
    prior = await history.begin(ANN, call("Edit", tool_use_id="u1"), "d1", refused_within=0)
    again = await history.begin(ANN, call("Edit", tool_use_id="u1"), "d2", refused_within=0)
    assert (prior.prior, again.prior, again.retry, again.decision_id) == (("Grep",), ("Grep",), True, "d1")
    (key,) = await redis.call(b"KEYS", b"{baton}:place:*")
    for refused, kept in ((True, [b"2", b""]), (False, [b"1", b"Grep\n"])):
        history.correct(ANN, call("Grep"), refused=refused)
        assert await redis.call(b"HMGET", key, b"refused", b"calls:main") == kept


@every(
    ("earlier", "reported", "is_kept_out"),
    [({}, "", True), ({"project": "q"}, "", False), ({"project_root": "/v"}, "", False), ({}, '{"worktrees":["/x"]}', False)],
)  # fmt: skip
async def test_a_refusal_under_an_unknown_pin_is_only_counted_if_it_is_the_session_s(
    history, redis, earlier, reported, is_kept_out
):
    await redis.call(b"FLUSHALL")
    await history.begin(ANN, call("Grep", **earlier), "d0")
    if reported:
        (key,) = await redis.call(b"KEYS", b"{baton}:place:*")
        await redis.call(b"HSET", key, b"reported", reported)
    prior = await history.begin(ANN, call("Edit", tool_use_id="u1"), "d1", refused_within=0, is_placed=False)
    assert prior.is_kept_out is is_kept_out
    assert await names(history) == ("Grep", "Edit")[: 2 - is_kept_out]
    (watched,) = [await redis.call(b"GET", key) for key in await redis.call(b"KEYS", b"{baton}:watched:*")]
    assert msgspec.msgpack.decode(watched, type=Watch).refused is is_kept_out


@every(
    ("earlier", "within", "like", "is_kept_out"),
    [
        (["Grep", "Bash", "Task"], 3, "\nRead\nGrep\n", True),
        (["Grep", "Bash", "Task", "Task"], 3, "\nRead\nGrep\n", False),
        (["Read (collected)", "NotRead"], 3, "\nRead\n", False),
        (["Bash (look-up)"], 3, "\nRead\n (look-up)\n", True),
        (["mcp__a__b (look-up)"], 3, "\nmcp__a__b\n", True),
        (["Bash (look-up)"], 3, "\nRead\n", False),
    ],
)
async def test_a_call_refused_by_its_past_is_only_counted(history, redis, earlier, within, like, is_kept_out):
    await redis.call(b"FLUSHALL")
    for number, name in enumerate(earlier):
        await history.begin(ANN, call(f"T{number}"), "d0", entry=name)
    assert (await history.begin(ANN, call("Read"), "d1", refused_within=within, like=like)).is_kept_out is is_kept_out
    assert await names(history) == (*earlier, "Read")[: len(earlier) + 1 - is_kept_out]


async def test_a_retry_gets_the_same_past_and_id_and_appends_nothing(history):
    await history.begin(ANN, call("Grep"), "d0")
    first = await history.begin(ANN, call("Read", tool_use_id="u1"), "d1")
    again = await history.begin(ANN, call("Read", tool_use_id="u1"), "d2")
    assert first == Prior(prior=("Grep",), decision_id="d1", place=SessionProject("p", "/w"))
    assert again == Prior(prior=("Grep",), decision_id="d1", retry=True, place=SessionProject("p", "/w"))
    assert await names(history) == ("Grep", "Read")


async def test_a_session_s_key_gets_its_lifetime_again(history, redis):
    await history.begin(ANN, call("Read"), "d1")
    (key,) = await redis.call(b"KEYS", b"{baton}:place:*")
    await redis.call(b"DEL", key)
    await history.begin(ANN, call("Read"), "d2")
    assert await redis.call(b"TTL", key) > 0


async def test_an_active_session_does_not_expire(redis):
    history = History(redis, ttl_s=100)
    await history.begin(ANN, call("Read"), "d1")
    await history.started(ANN, "s1", "task")
    keys = await redis.call(b"KEYS", b"*s:*") or await redis.call(b"KEYS", b"*")
    for key in keys:
        await redis.call(b"EXPIRE", key, 20)
    await history.begin(ANN, call("Read"), "d2")
    assert {await redis.call(b"TTL", key) for key in keys} == {20}, "so shortly after the first call nothing is renewed"
    (place,) = await redis.call(b"KEYS", b"{baton}:place:*")
    await redis.call(b"HSET", place, b"renewed", 0)
    await history.begin(ANN, call("Read"), "d3")
    assert all([await redis.call(b"TTL", key) > 90 for key in keys])


@pytest.mark.parametrize(
    "other",
    [
        {"tool": "Edit"},
        {"tool_input": {"file_path": "b"}},
        {"agent_id": "a1"},
        {"session_id": "s2"},
        {"tool_use_id": "u2"},
    ],
)
async def test_another_call_with_the_same_id_is_no_retry(history, other):
    first = {"tool_use_id": "u1", "tool_input": {"file_path": "a"}}
    await history.begin(ANN, call("Read", **first), "d1")
    again = dict(first | other)
    prior = await history.begin(ANN, call(again.pop("tool", "Read"), **again), "d2")
    assert (prior.decision_id, prior.retry) == ("d2", False)


async def test_calls_at_the_same_moment_each_see_the_ones_before(history):
    priors = await asyncio.gather(*(history.begin(ANN, call("Read"), "d") for _ in range(20)))
    assert sorted(len(prior.prior) for prior in priors) == list(range(20))


async def test_a_reset_forgets_every_agents_calls_and_nothing_else(history):
    await history.begin(ANN, call("Read"), "d")
    await history.begin(ANN, call("Read", agent_id="a1"), "d")
    await history.begin(BOB, call("Read"), "d")
    await history.started(ANN, "s1", "t1")
    await history.reset(ANN, "s1")
    prior = await history.begin(ANN, call("Probe"), "d")
    assert (prior.prior, prior.background_running) == ((), 1)
    assert await names(history, agent_id="a1") == ()
    assert await names(history, BOB) == ("Read",)


@pytest.mark.parametrize(("calls", "left"), [(19, 19), (20, 0)])
async def test_a_compaction_is_believed_of_a_session_that_has_worked(history, calls, left):
    for _ in range(calls):
        await history.begin(ANN, call("Read"), "d")
    await history.compacted(ANN, "s1")
    assert len(await names(history)) == left


async def test_sessions_under_the_mode_of_work_items_are_known_by_user_and_project(history):
    assert await history.under_items(ANN, "p") == []
    for who, project, session in ((ANN, "p", "s1"), (ANN, "p", "s2"), (ANN, "q", "s3"), (BOB, "p", "s4")):
        history.works_under_items(who, project, session)
    assert sorted(await history.under_items(ANN, "p")) == ["s1", "s2"]
    for number in range(MOST_UNDER_WORK_ITEMS):
        history.works_under_items(ANN, "p", f"phantom {number}")
    assert await history.under_items(ANN, "p") is None


async def test_background_tasks_are_counted_once_each_until_they_end(history):
    for task in ("t1", "t2", "t2"):
        await history.started(ANN, "s1", task)
    await history.started(BOB, "s1", "t3")
    assert (await history.begin(ANN, call(), "d")).background_running == 2
    await history.ended(ANN, "s1", "t1")
    await history.ended(ANN, "s1", "unknown")
    assert (await history.begin(ANN, call(), "d")).background_running == 1


async def test_a_session_is_pinned_to_the_project_of_its_first_call(history):
    first = call(project="git@host:p", project_root="/home/ann/é")
    assert (await history.begin(ANN, first, "d")).place == SessionProject("host/p", "/home/ann/é")
    for later in (call(project="other", project_root="/w"), call(project="", cwd="/w"), call(project="", cwd="")):
        assert (await history.begin(ANN, later, "d", other=later.project)).place == SessionProject(
            "host/p", "/home/ann/é"
        )
    past = await history.look(ANN, "s1")
    assert (past.project, past.root, past.other_project) == ("host/p", "/home/ann/é", "other")


@pytest.mark.parametrize(
    ("fields", "pinned"),
    [
        ({"project": "", "project_root": "/r", "cwd": "/r/sub"}, ("/r", "/r")),
        ({"project": "", "cwd": "/r/sub"}, ("/r/sub", "/r/sub")),
        ({"project": "", "cwd": ""}, ("", "")),
        ({"project": "half \ud800 a pair"}, ("half ? a pair", "/w")),
    ],
)
async def test_a_call_without_a_project_pins_its_root_or_its_folder(history, fields, pinned):
    assert (await history.begin(ANN, call(**fields), "d")).place == SessionProject(*pinned)


async def test_neither_the_end_of_a_session_nor_a_reset_moves_it_to_another_project(history):
    await history.begin(ANN, call(project="p"), "d")
    await history.reset(ANN, "s1")
    await history.end(ANN, "s1")
    assert (await history.begin(ANN, call(project="other"), "d")).place.project == "p"
    await history.forget(ANN, "s1")
    assert (await history.begin(ANN, call(project="other"), "d")).place.project == "other"


def editing(path, **fields):
    return call("Edit", tool_input={"file_path": path}, **fields)


async def test_another_sessions_recent_edit_is_seen_in_every_copy_of_the_project(history):
    await history.note_edit(BOB, "p", "src/a.py", "s2")
    for path, cwd in [("/home/ann/p/src/a.py", "/home/ann/p"), ("src/a.py", "/elsewhere"), ("a.py", "/w/src")]:
        root = {"/w/src": "/w"}.get(cwd, cwd)
        prior = await history.begin(ANN, editing(path, cwd=cwd, project_root=root), "d")
        assert prior.other_editor == "s2", path


@pytest.mark.parametrize(
    ("who", "given"),
    [
        (BOB, editing("/w/src/a.py", session_id="s2")),
        (ANN, editing("/w/src/b.py")),
        (ANN, editing("/w/src/a.py", project="another")),
        (Principal(user="ann", organisation="other"), editing("/w/src/a.py")),
        (ANN, call("Bash", tool_input={"command": "ls"})),
        (ANN, call("Edit", tool_input={"file_path": ["src/a.py"]})),
    ],
)
async def test_only_another_sessions_edit_of_the_same_file_counts(history, who, given):
    await history.note_edit(BOB, "p", "src/a.py", "s2")
    assert (await history.begin(who, given, "d")).other_editor == ""


async def test_other_editors_are_read_only_for_rules_about_them(history):
    await history.note_edit(BOB, "p", "src/a.py", "s2")
    assert (await history.begin(ANN, editing("/w/src/a.py"), "d", editors=False)).other_editor == ""


async def test_an_edit_no_longer_counts_after_ten_minutes_or_when_its_session_has_ended(history, monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr("baton.sessions.history.time.time", lambda: clock[0])
    await history.note_edit(BOB, "p", "a.py", "old")
    clock[0] += 400
    await history.note_edit(Principal(user="cay"), "p", "a.py", "new")
    assert (await history.begin(ANN, editing("/w/a.py"), "d")).other_editor == "new"
    await history.end(Principal(user="cay"), "new")
    assert (await history.begin(ANN, editing("/w/a.py"), "d")).other_editor == "old"
    clock[0] += 201
    assert (await history.begin(ANN, editing("/w/a.py"), "d")).other_editor == ""


async def test_a_resumed_session_continues_its_history(history, redis):
    await history.started(ANN, "s1", "t")
    await history.note_edit(ANN, "p", "a.py", "s1")
    await history.begin(ANN, call(tool_use_id="u"), "d")
    await history.end(ANN, "s1")
    assert sorted(key.split(b":")[1] for key in await redis.call(b"KEYS", b"*")) == [b"call", b"place", b"watched"]


async def test_a_call_is_one_write_to_redis(history, redis, monkeypatch):
    flushes = []
    flush = type(redis._wire).flush
    monkeypatch.setattr(type(redis._wire), "flush", lambda wire: (flushes.append(1), flush(wire)))
    await history.begin(ANN, editing("/w/a.py", tool_use_id="u"), "warm")
    flushes.clear()
    await history.begin(ANN, editing("/w/a.py", tool_use_id="v"), "d")
    assert len(flushes) == 1


async def test_an_unavailable_redis_is_reported():
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    history = History(away, ttl_s=60)
    for attempt in (history.begin(ANN, editing("/w/a"), "d"), history.reset(ANN, "s"), history.end(ANN, "s")):
        with pytest.raises(RedisUnavailable):
            await attempt
    await away.close()
