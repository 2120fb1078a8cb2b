"""`GET /decisions/stream` over real HTTP: live, resumed, filtered, with visibility."""

import signal

import pytest

from tests.support.cases import every
from tests.support.server import serving, until
from tests.support.streams import readers

READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.fixture
def read():
    """Open readers, which are closed after the test."""
    with readers() as make:
        yield make


def ask(server, session, user="dora", **more):
    with server.client(**{"Baton-User": user}) as http:
        return http.post("/pre-tool-use", json=session | READ | more).json()["decision_id"]


def test_decisions_come_as_they_are_made_and_as_the_list_shows_them(read, server, session):
    reader = read(server, "dora", session_id=session["session_id"])
    made = [ask(server, session, tool_input={"file_path": str(number)}) for number in range(5)]
    until(lambda: len(reader.ids) == 5)
    assert reader.ids == made
    with server.client(**{"Baton-User": "dora"}) as http:
        listed = http.get("/decisions", params={"session_id": session["session_id"]}).json()["items"]
    assert [one for _, _, data in reader.events for one in data["items"]] == listed[::-1]


def test_a_reader_sees_only_what_the_list_would_show(read, server, session):
    mine = read(server, "dora", session_id=session["session_id"])
    all_of_them = read(server, session_id=session["session_id"])
    edits = read(server, "dora", session_id=session["session_id"], q="B.PY")
    made = [ask(server, session, "dora"), ask(server, session, "eve")]
    made.append(ask(server, session, "dora", tool_input={"file_path": "b.py"}))
    until(lambda: len(all_of_them.ids) == 3)
    until(lambda: len(mine.ids) == 2 and edits.ids)
    assert (all_of_them.ids, mine.ids, edits.ids) == (made, [made[0], made[2]], [made[2]])


def outcomes(reader):
    return [one for _, kind, data in reader.events if kind == "outcomes" for one in data["items"]]


def test_an_outcome_is_streamed_only_to_permitted_readers(read, server, session):
    mine = read(server, "dora", session_id=session["session_id"])
    all_of_them = read(server, session_id=session["session_id"], tool="Read")
    readers = [
        read(server, "eve", session_id=session["session_id"]),
        read(server, "dora", session_id="another"),
        read(server, session_id=session["session_id"], tool="Bash"),
    ]
    ask(server, session, tool_use_id="t1")
    with server.client(**{"Baton-User": "dora"}) as http:
        ended = session | READ | {"tool_use_id": "t1", "duration_ms": 7}
        assert http.post("/post-tool-use", json=ended).status_code == 200
    for reader in (mine, all_of_them):
        until(lambda reader=reader: outcomes(reader))
        (found,) = outcomes(reader)
        assert found.pop("at")
        assert found == {
            "user": "dora", "session_id": session["session_id"], "tool": "Read", "tool_use_id": "t1", "outcome": "ran",
            "duration_ms": 7,
        }  # fmt: skip
    last = ask(server, session, "eve", tool_input={"file_path": "c.py"})
    until(lambda: last in readers[0].ids)
    assert [outcomes(reader) for reader in readers] == [[], [], []]


def test_a_reader_goes_on_where_it_was(read, server, session):
    reader = read(server, "dora", session_id=session["session_id"])
    ask(server, session)
    until(lambda: reader.ids)
    made = [ask(server, session), ask(server, session)]
    again = read(server, "dora", after=reader.events[0][0], session_id=session["session_id"])
    until(lambda: len(again.ids) >= 2)
    assert again.ids == made
    by_cursor = read(server, "dora", session_id=session["session_id"], cursor=reader.events[0][0])
    until(lambda: len(by_cursor.ids) >= 2)
    assert by_cursor.ids == made


@every("place", ["x", "1", "1-", "-1-1", "1-1 ", "9" * 16 + "-0", "1-1\u0661"])
def test_a_wrong_place_is_refused_with_its_field(server, place):
    with server.client() as http:
        answer = http.get("/decisions/stream", params={"cursor": place})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "cursor"


def test_a_place_that_nobody_knows_is_a_gap(read, server, session):
    reader = read(server, "dora", after="5-5", session_id=session["session_id"])
    until(lambda: reader.events)
    _, kind, data = reader.events[0]
    assert kind == "gap"
    assert data["from"].startswith("1969-12-31T23:59:00.005")  # a minute before its place, as decisions come late
    assert data["from"] < data["to"]
    made = ask(server, session)
    until(lambda: made in reader.ids)


@pytest.mark.slow("starts a server of its own")
def test_a_revoked_token_ends_the_stream(read, tmp_path):
    with serving(tmp_path / "home", BATON_AUTH="on", BATON_EXPENSIVE_PER_MINUTE="0") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.agent(Authorization=f"Bearer {token}") as admin:
            made = admin.post("/tokens", json={"user": "dora", "role": "developer"}).json()
            reader = read(server, headers={"Authorization": f"Bearer {made['text']}"})
            assert reader.status == 200
            assert admin.delete(f"/tokens/{made['token']['id']}").status_code in {200, 204}
        until(reader.ended)
        assert read(server, headers={"Authorization": f"Bearer {made['text']}"}).status == 401


@pytest.mark.slow("kills a server and starts it again, with two workers")
def test_nothing_is_lost_or_doubled_when_the_server_is_killed(read, tmp_path):
    session = {"session_id": "s"}
    with serving(tmp_path / "home", BATON_WORKERS="2") as server:
        reader = read(server, "dora", session_id="s")
        made = [ask(server, session) for _ in range(20)]
        until(lambda: len(reader.ids) == 20)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        until(reader.ended)
        server.start()
        made += [ask(server, session) for _ in range(20)]
        # Whichever of the two workers answers, the place means the same.
        readers = [read(server, "dora", after=reader.last, session_id="s") for _ in range(4)]
        for one in readers:
            until(lambda one=one: len(one.ids) >= 20)
            # Two workers do not store in the order in which they were asked.
            assert sorted(reader.ids + one.ids) == sorted(made)
            assert [kind for _, kind, _ in one.events if kind == "gap"] == []
