"""Signing in with a browser: links, tokens, the cookie, and a session's end."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from baton.kernel.base.errors import Unauthenticated
from baton.kernel.changes.announce import Changes
from baton.people.browser_sessions.service import LASTS, LINK_LASTS, BrowserSessions
from baton.people.tokens import Tokens
from baton.people.users import Users
from baton.rules.call.call import Principal
from tests.support.people import admin_token, token

PAGE = {"Sec-Fetch-Site": "same-origin"}
ADA = Principal(organisation="default", team="web", user="ada", role="lead")


@pytest.fixture
def people(guarded):
    """An admin's client, and what makes a client without a token."""
    with guarded.client(Authorization=f"Bearer {admin_token(guarded)}") as admin:
        yield admin, guarded.agent


def link(http):
    answer = http.post("/session/links")
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    path, _, code = answer.json()["path"].partition("#")
    assert path == "/ui/sign-in"
    return code


def test_a_link_signs_one_browser_in_as_its_creator(people):
    admin, browser = people
    code = link(admin)
    with browser(**PAGE) as first, browser(**PAGE) as second:
        assert first.post("/session", json={"code": code}).status_code == 201
        mine = first.get("/me").json()
        assert (mine["role"], mine["person"], "signed_in_until" in mine) == ("admin", True, True)
        again = second.post("/session", json={"code": code})
        assert (again.status_code, "already used" in again.json()["detail"]) == (401, True)
        assert second.get("/me").status_code == 401


def test_of_many_who_use_a_link_at_once_one_is_signed_in(people):
    admin, browser = people
    code = link(admin)

    def use(_):
        with browser(**PAGE) as one:
            return one.post("/session", json={"code": code}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(use, range(8))) == [201] + [401] * 7


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "give `code` or `token`"),
        ({"code": "a", "token": "b"}, 422, "give `code` or `token`"),
        ({"code": "a" * 64}, 401, "create another with `baton open`"),
        ({"token": "baton_000000000000_" + "0" * 64}, 401, "unknown token"),
        ({"user": "ada"}, 422, "user"),
    ],
)
def test_an_invalid_proof_signs_no_one_in(people, body, status, said):
    with people[1](**PAGE) as browser:
        answer = browser.post("/session", json=body)
        assert (answer.status_code, said in answer.text) == (status, True)
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("role", ["hook", "runner"])
def test_tokens_that_are_no_persons_open_no_console(people, role):
    admin, browser = people
    text, _ = token(admin, f"bs-{role}", role)
    with browser(**PAGE) as one:
        assert one.post("/session", json={"token": text}).status_code in {403, 422}
        assert one.post("/session/links", headers={"Authorization": f"Bearer {text}"}).status_code == 403


def test_on_loopback_an_agent_gets_no_link(server):
    with server.agent() as agent:
        answer = agent.post("/session/links")
    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")


def test_the_cookie_is_for_this_server_alone_and_no_script_reads_it(people):
    admin, browser = people
    text, _ = token(admin, "bs-cookie")
    with browser(**PAGE) as one:
        port = one.base_url.port
        plain = one.post("/session", json={"token": text}).headers["set-cookie"]
        parts = [part.strip() for part in plain.split(";")]
        assert parts[0].startswith(f"baton-{port}=baton_browser_")
        assert parts[1:] == ["Path=/", f"Max-Age={int(LASTS.total_seconds())}", "HttpOnly", "SameSite=Strict"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "{own}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "{own}", "Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_a_change_by_cookie_must_come_from_a_page_of_this_server(people, headers, status):
    admin, browser = people
    text, _ = token(admin, "bs-csrf")
    with browser() as one:
        assert one.post("/session", json={"token": text}, headers=PAGE).status_code == 201
        own = str(one.base_url).rstrip("/")
        sent = {name: value.format(own=own) for name, value in headers.items()}
        body = {"scope": "user", "enabled": True, "level": "guidance"}
        assert one.put("/mode", json=body, headers=sent).status_code == status
        assert one.get("/me").status_code == 200
        program = sent | {"Authorization": f"Bearer {text}"}
        if "evil" not in str(sent) and sent.get("Sec-Fetch-Site") not in {"same-site", "cross-site"}:
            assert one.put("/mode", json=body, headers=program).status_code == 200


def test_a_session_ends_with_the_token_that_it_was_made_from(people):
    admin, browser = people
    text, token_id = token(admin, "bs-revoked")
    with browser(**PAGE) as one, browser(**PAGE) as other, browser(**PAGE) as third:
        assert one.post("/session", json={"token": text}).status_code == 201
        with browser(Authorization=f"Bearer {text}") as person:
            code = link(person)
        assert other.post("/session", json={"code": code}).status_code == 201
        assert third.post("/session", json={"code": link(one)}).status_code == 201  # by a browser's own link
        assert [each.get("/me").status_code for each in (one, other, third)] == [200, 200, 200]
        assert admin.delete(f"/tokens/{token_id}").status_code == 204
        assert [each.get("/me").status_code for each in (one, other, third)] == [401, 401, 401]


def test_a_signed_out_browser_has_no_user(people):
    admin, browser = people
    text, _ = token(admin, "bs-out")
    with browser(**PAGE) as one:
        assert one.post("/session", json={"token": text}).status_code == 201
        kept = dict(one.cookies)
        gone = one.delete("/session")
        assert (gone.status_code, "Max-Age=0" in gone.headers["set-cookie"]) == (204, True)
        cookie = "; ".join(f"{name}={value}" for name, value in kept.items())
        assert one.get("/me", headers={"Cookie": cookie}).status_code == 401


def test_signing_in_and_out_is_audited_without_a_secret(people):
    admin, browser = people
    code = link(admin)
    with browser(**PAGE) as one:
        text = one.post("/session", json={"code": code}).headers["set-cookie"].partition("=")[2].partition(";")[0]
        one.delete("/session")
    found = admin.get("/audit", params={"limit": 20}).text
    assert {"browser-session.link", "browser-session.begin", "browser-session.end"} <= {
        one["action"] for one in admin.get("/audit", params={"limit": 20}).json()["items"]
    }
    assert code not in found
    assert text not in found


async def test_time_ends_links_and_sessions(database, redis):
    now = [datetime(2026, 1, 5, 9, tzinfo=UTC)]
    changes = Changes(redis, database, "default")
    users = Users(database, changes, organisation="default", team="web")
    tokens = Tokens(database, changes, users, organisation="default", now=lambda: now[0])
    browsers = BrowserSessions(
        database, changes, tokens, users, organisation="default", tokens_required=False, now=lambda: now[0]
    )
    late = await browsers.link(ADA)
    now[0] += LINK_LASTS
    with pytest.raises(Unauthenticated):
        await browsers.begin(late.code)
    good = await browsers.link(ADA)
    now[0] += LINK_LASTS - timedelta(seconds=1)
    _, text = await browsers.begin(good.code)
    assert tokens.check(text) == ADA
    now[0] += LASTS - timedelta(seconds=1)
    assert tokens.check(text) == ADA
    now[0] += timedelta(seconds=1)
    with pytest.raises(Unauthenticated):
        tokens.check(text)
    await browsers.load()
    with pytest.raises(Unauthenticated):
        tokens.check(text)


async def test_a_session_without_a_token_ends_where_tokens_are_asked_for(database, redis):
    changes = Changes(redis, database, "default")
    users = Users(database, changes, organisation="default", team="web")
    tokens = Tokens(database, changes, users, organisation="default")
    before = BrowserSessions(database, changes, tokens, users, organisation="default", tokens_required=False)
    _, text = await before.begin((await before.link(ADA)).code)
    assert before.check(text) == ADA
    after = BrowserSessions(database, changes, tokens, users, organisation="default", tokens_required=True)
    await after.load()
    with pytest.raises(Unauthenticated):
        after.check(text)


def test_signed_in_browsers_are_listed_to_their_user_and_ended_from_elsewhere(people):
    admin, browser = people
    eve_text, _ = token(admin, "bs-eve", "developer")
    mallory_text, _ = token(admin, "bs-mallory", "developer")
    with browser(**PAGE) as eve, browser(Authorization=f"Bearer {mallory_text}") as mallory:
        eve.post("/session", json={"token": eve_text}).raise_for_status()
        (mine,) = eve.get("/session/browsers").json()["items"]
        assert (mine["user"], mine["current"]) == ("bs-eve", True)
        assert mallory.get("/session/browsers").json()["items"] == []
        assert mallory.delete(f"/session/browsers/{mine['id']}").status_code == 404
        (seen,) = [one for one in admin.get("/session/browsers").json()["items"] if one["user"] == "bs-eve"]
        assert not seen["current"]
        assert "digest" not in str(seen)
        assert admin.delete(f"/session/browsers/{mine['id']}", params={"reason": "lost laptop"}).status_code == 204
        assert eve.get("/me").status_code == 401
        assert mine["id"] not in str(admin.get("/session/browsers").json())
        (entry,) = [
            one
            for one in admin.get("/audit", params={"object": mine["id"]}).json()["items"]
            if one["action"] == "browser-session.end"
        ]
        assert (entry["reason"], entry["before"]) == ("lost laptop", {"user": "bs-eve"})


def test_listing_browsers_uses_no_token(people):
    admin, browser = people
    text, token_id = token(admin, "bs-idle", "developer")
    with browser(**PAGE) as one:
        one.post("/session", json={"token": text}).raise_for_status()

    def used():
        items = admin.get("/tokens?user=bs-idle").json()["items"]
        return next(one for one in items if one["id"] == token_id)["last_used_at"]

    before = used()
    admin.get("/session/browsers")
    assert used() == before


async def test_an_account_s_session_speaks_for_its_user_as_they_are_now(database, redis):
    admin = Principal(organisation="default", team="web", user="root", role="admin", agent=False)
    now = [datetime.now(UTC)]
    account = "https://login.acme.example s-ada"
    changes = Changes(redis, database, "default")
    users = Users(database, changes, organisation="default", team="web")
    tokens = Tokens(database, changes, users, organisation="default", now=lambda: now[0])

    def sessions(issuer):
        return BrowserSessions(
            database, changes, tokens, users, organisation="default", tokens_required=True, issuer=issuer, now=lambda: now[0]
        )  # fmt: skip

    browsers = sessions("https://login.acme.example")
    await users.put_user(admin, "ada", team="", disabled=None, role="lead")
    await users.load()
    ada = users.find("ada")
    now[0] = max(now[0], datetime.now(UTC))
    session, text = await browsers.begin_with_account(ada, account, "seed")
    await users.load()
    await browsers.load()
    assert (users.find("ada").account, users.of_account(account).name) == (account, "ada")
    found = browsers.check(text)
    assert (found.user, found.team, found.role, found.agent) == ("ada", "web", "lead", False)
    with pytest.raises(Unauthenticated, match="already used"):
        await browsers.begin_with_account(users.find("ada"), account, "seed")
    with pytest.raises(Unauthenticated, match="changed meanwhile"):  # as she was before she had an account
        await browsers.begin_with_account(ada, "https://login.acme.example s-other", "another")
    other = sessions("https://login.other.example")
    await other.load()
    with pytest.raises(Unauthenticated, match="of that provider"):
        other.check(text)
    now[0] += LASTS
    with pytest.raises(Unauthenticated, match="has ended"):
        browsers.check(text)
    assert session.expires_at == now[0]
