"""Signing a browser in with an account of a real provider, and rejected people."""

from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.people.oidc.conftest import PAGE
from tests.support.cases import every
from tests.support.openid_provider import answer_of, key


def cookie_of(answer, name):
    """Return the cookie of an answer whose name begins so, with its attributes."""
    found = [one for one in answer.headers.get_list("set-cookie") if one.startswith(name)]
    return found[0] if found else ""


def test_an_account_signs_in_as_the_user_added_by_an_admin(company):
    company.provider.enter("s-ada", preferred_username="ada")
    assert company.enter("ada", role="lead")["role"] == "lead"
    with company.browser() as browser:
        assert browser.get("/session/providers").json() == {"items": [{"name": "Acme"}]}
        answer = company.sign_in(browser, "s-ada", "/ui/decisions?effect=deny#one")
        assert answer.status_code == 201, answer.text
        assert answer.json()["return_to"] == "/ui/decisions?effect=deny#one"
        assert answer.headers["cache-control"] == "no-store"
        session = cookie_of(answer, f"baton-{browser.base_url.port}")
        assert session.endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
        assert "Max-Age=0" in cookie_of(answer, "baton-attempt")
        me = browser.get("/me").json()
        assert (me["user"], me["role"], me["person"]) == ("ada", "lead", True)
        (mine,) = browser.get("/session/browsers").json()["items"]
        assert (mine["by"], mine["user"], mine["current"]) == ("account", "ada", True)
        assert browser.delete("/session").status_code == 204
        assert browser.get("/me").status_code == 401
    (entry,) = [one for one in company.audit("browser-session.begin") if one["actor"] == "ada"]
    assert entry["reason"] == f"by the account {company.provider.issuer} s-ada"
    with company.admin() as admin:
        assert admin.get("/users/ada").json()["account"] == f"{company.provider.issuer} s-ada"


def test_the_attempt_is_secret_from_the_provider(company):
    with company.browser() as browser:
        answer = browser.post("/session/provider/attempts", json={})
        cookie = cookie_of(answer, "baton-attempt")
        assert "; Path=/; Max-Age=600; HttpOnly; SameSite=Strict" in cookie
        sent = answer_of(answer.json()["url"])
    assert sent["code_challenge_method"] == "S256"
    assert {"state", "nonce", "code_challenge", "client_id", "redirect_uri", "scope"} <= sent.keys()
    secret = cookie.partition("=")[2].split(".")[1]
    assert secret not in answer.json()["url"]
    assert len({sent["state"], sent["nonce"], sent["code_challenge"]}) == 3


@every(
    ("claims", "user", "said"),
    [
        ({"preferred_username": "nobody-here"}, None, "there is no user `nobody-here`"),
        ({}, None, "no valid user name in its claim `preferred_username`"),
        ({"preferred_username": ["eve"]}, None, "no valid user name in its claim `preferred_username`"),
        ({"preferred_username": "x" * 201}, None, "no valid user name in its claim `preferred_username`"),
        ({"preferred_username": "gone"}, {"disabled": True}, "`gone` is disabled"),
    ],
)
def test_an_account_without_a_user_is_refused_and_audited(company, claims, user, said):
    sub = f"s-refused-{len(str(claims))}"
    company.provider.enter(sub, **claims)
    if user is not None:
        company.enter(claims["preferred_username"], **user)
    with company.browser() as browser:
        answer = company.sign_in(browser, sub)
        assert (answer.status_code, said in answer.json()["detail"]) == (401, True), answer.text
        assert browser.get("/me").status_code == 401
    (entry,) = [one for one in company.audit("browser-session.refuse") if one["object"].endswith(sub)]
    assert said in entry["reason"]


def test_an_account_cannot_take_another_s_user(company):
    """Names at a provider change hands; its subjects do not."""
    company.enter("bob")
    company.enter("boss", role="admin")
    company.provider.enter("s-bob", preferred_username="bob")
    company.provider.enter("s-other", preferred_username="bob")
    with company.browser() as first, company.browser() as second:
        assert company.sign_in(first, "s-bob").status_code == 201
        refused = company.sign_in(second, "s-other")
        assert (refused.status_code, "another account of that name" in refused.text) == (401, True)
        company.provider.enter("s-bob", preferred_username="boss")  # bob calls himself boss
        refused = company.sign_in(second, "s-bob")
        assert (refused.status_code, "this account is the user `bob`" in refused.text) == (401, True)
        assert first.get("/me").json()["role"] == "developer"
        # An admin says that the name is somebody else's now: the last one's browsers are signed out.
        company.enter("bob", forget_account=True, reason="bob left")
        assert first.get("/me").status_code == 401
        assert company.sign_in(second, "s-other").status_code == 201


def test_an_admin_s_change_applies_to_signed_in_users_at_once(company):
    company.enter("carol", role="admin")
    company.provider.enter("s-carol", preferred_username="carol")
    with company.browser() as browser, company.admin() as admin:
        assert company.sign_in(browser, "s-carol").status_code == 201
        assert browser.get("/me").json()["role"] == "admin"
        company.enter("carol", role="developer")
        assert browser.get("/me").json()["role"] == "developer"
        company.enter("carol", disabled=True)
        assert browser.get("/me").status_code == 401
        assert [one["user"] for one in admin.get("/session/browsers").json()["items"] if one["user"] == "carol"] == []
        company.enter("carol", disabled=False)
        assert browser.get("/me").status_code == 200
        assert admin.delete("/users/carol").status_code == 204
        assert browser.get("/me").status_code == 401
        company.enter("carol")  # somebody else of that name
        assert browser.get("/me").status_code == 401
        assert company.sign_in(browser, "s-carol").status_code == 201
        (mine,) = browser.get("/session/browsers").json()["items"]
        assert admin.delete(f"/session/browsers/{mine['id']}").status_code == 204
        assert browser.get("/me").status_code == 401


@every("role", ["hook", "runner", "observer", "root"])
def test_an_account_has_a_role_of_a_person(company, role):
    with company.admin() as admin:
        answer = admin.put("/users/dora", json={"role": role})
    assert (answer.status_code, "role" in answer.text) == (422, True)


def test_an_account_s_session_creates_no_longer_link(company):
    company.enter("erin")
    company.provider.enter("s-erin", preferred_username="erin")
    with company.browser() as browser:
        assert company.sign_in(browser, "s-erin").status_code == 201
        answer = browser.post("/session/links")
        assert (answer.status_code, "cannot create links" in answer.text) == (409, True)


def test_one_answer_signs_in_one_browser(company):
    company.enter("fay")
    company.provider.enter("s-fay", preferred_username="fay")
    company.provider.faults["codes_last"] = (
        True  # a provider that breaks the standard, so that the server alone is asked
    )
    with company.browser() as browser:
        answer = company.answered(browser, "s-fay")
        kept = dict(browser.cookies)

        def use(_):
            cookie = "; ".join(f"{name}={value}" for name, value in kept.items())
            with company.browser(Cookie=cookie) as one:
                return one.post("/session/provider", json=answer).status_code

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(use, range(4))) == [201] + [401] * 3


def test_a_code_is_good_once(company):
    company.enter("gil")
    company.provider.enter("s-gil", preferred_username="gil")
    with company.browser() as browser:
        answer = company.answered(browser, "s-gil")
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        assert browser.post("/session/provider", json=answer).status_code == 201
        again = browser.post("/session/provider", json=answer)
        assert (again.status_code, "not started here" in again.text) == (401, True)
        replayed = browser.post("/session/provider", json=answer, headers={"Cookie": cookie})
        assert (replayed.status_code, "invalid_grant" in replayed.text) == (401, True)


def test_another_browser_s_answer_is_refused(company):
    """Login CSRF: mallory's answer in the victim's browser, with an attempt of the victim's or with none."""
    company.enter("mallory")
    company.provider.enter("s-mallory", preferred_username="mallory")
    with company.browser() as mallory, company.browser() as victim:
        answer = company.answered(mallory, "s-mallory")
        assert victim.post("/session/provider", json=answer).status_code == 401
        own = answer_of(company.begin(victim))["state"]
        assert victim.post("/session/provider", json=answer).status_code == 401
        mixed = victim.post("/session/provider", json=answer | {"state": own})  # her code, the victim's state: PKCE
        assert (mixed.status_code, "invalid_grant" in mixed.text) == (401, True)
        assert victim.get("/me").status_code == 401


def test_an_expired_or_altered_attempt_is_refused(company):
    company.enter("hal")
    company.provider.enter("s-hal", preferred_username="hal")
    with company.browser() as browser:
        answer = company.answered(browser, "s-hal")
        ((name, cookie),) = browser.cookies.items()
        begun, secret, path = cookie.split(".")
        elsewhere = urlsafe_b64encode(b"//evil.example/").decode().rstrip("=")
        bent = [
            f"{int(begun, 16) - 601:x}.{secret}.{path}",
            f"{int(begun, 16) + 1:x}.{secret}.{path}",
            f"{begun}.{secret}.{elsewhere}",
            f"{begun}.{secret[:-1]}0.{path}" if secret[-1] != "0" else f"{begun}.{secret[:-1]}1.{path}",
            "",
            "x" * 3_000,
        ]
        for one in bent:
            refused = browser.post("/session/provider", json=answer, headers={"Cookie": f"{name}={one}"})
            assert refused.status_code == 401, one
    assert all(one["actor"] != "hal" for one in company.audit("browser-session.begin"))


@every(
    "path",
    [
        "https://evil.example/", "//evil.example/", "/\\evil.example", "/ui/../session", "/ui/%2e%2e/x", "/ui//evil.example",
        "/ui", "/", "", "/decisions", "javascript:alert(1)", "/ui/\\evil.example", "/ui/sign-in", "/ui/\tx", "/ui/\nx", "/ui/" + "x" * 500,
        "/ui/é", "/uix/",
    ],
)  # fmt: skip
def test_sign_in_redirects_to_the_console_only(company, path):
    with company.browser() as browser:
        answer = browser.post("/session/provider/attempts", json={"return_to": path})
        assert answer.status_code == 422, answer.text
        assert "return_to" in answer.text
        assert "set-cookie" not in answer.headers


@every("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
@every("path", ["/session/provider", "/session/provider/attempts"])
def test_another_site_cannot_start_or_end_a_session(company, path, headers):
    with company.browser() as browser:
        answer = browser.post(path, json={}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_origin")


BENT = {
    "alg none": {"signature": "none"},
    "the client's secret as the key": {"signature": "HS256 by the secret"},
    "the public key as a secret": {"signature": "HS256 by the public key"},
    "another key of the same name": {"signature": "another key"},
    "a key that the token brings along": {"signature": "a key in the token"},
    "another audience": {"claims": {"aud": "another-client"}},
    "another audience for which it was made": {"claims": {"aud": ["another-client"], "azp": "baton"}},
    "made for another client": {"claims": {"aud": ["baton", "another-client"], "azp": "another-client"}},
    "no audience": {"claims": {"aud": None}},
    "another issuer": {"claims": {"iss": "https://evil.example"}},
    "no issuer": {"claims": {"iss": None}},
    "another nonce": {"claims": {"nonce": "another"}},
    "no nonce": {"claims": {"nonce": None}},
    "expired": {"claims": {"iat": 1_000_000_000, "exp": 1_000_000_600}},
    "without an end": {"claims": {"exp": None}},
    "of the future": {"claims": {"iat": 4_000_000_000, "exp": 4_000_000_600}},
    "without a subject": {"claims": {"sub": None}},
    "an empty subject": {"claims": {"sub": ""}},
    "an endless subject": {"claims": {"sub": "x" * 256}},
    "a subject that no database keeps": {"claims": {"sub": "s-ivy\x00"}},
    "a subject that is no text": {"claims": {"sub": 7}},
    "another access token": {"claims": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
}


@pytest.mark.matrix(3)
@pytest.mark.parametrize("fault", BENT.values(), ids=BENT.keys())
def test_an_id_token_is_taken_only_as_the_standard_says(company, fault):
    company.enter("ivy")
    company.provider.enter("s-ivy", preferred_username="ivy")
    company.provider.faults.update(fault)
    with company.browser() as browser:
        answer = company.sign_in(browser, "s-ivy")
        assert (answer.status_code, "sent is invalid" in answer.text) == (401, True), answer.text
        assert browser.get("/me").status_code == 401


def test_another_provider_s_answer_never_reaches_the_token_endpoint(company):
    """Mix-up (RFC 9207)."""
    company.enter("jan")
    company.provider.enter("s-jan", preferred_username="jan")
    with company.browser() as browser:
        answer = company.answered(browser, "s-jan")
        company.provider.seen.clear()
        refused = browser.post("/session/provider", json=answer | {"iss": "https://evil.example"})
        assert (refused.status_code, "not from Acme" in refused.text) == (401, True)
        assert "/token" not in company.provider.seen
        assert browser.post("/session/provider", json=answer | {"iss": company.provider.issuer}).status_code == 201


def test_a_provider_that_signs_with_a_new_key_is_asked_for_it(company):
    company.enter("kim")
    company.provider.enter("s-kim", preferred_username="kim")
    with company.browser() as browser:
        assert company.sign_in(browser, "s-kim").status_code == 201
    before = list(company.provider.keys)
    try:
        company.provider.keys.append(key("second"))
        with company.browser() as browser:
            assert company.sign_in(browser, "s-kim").status_code == 201
    finally:
        company.provider.keys[:] = before


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": "access_denied"}, "you or Acme refused"),
        ({"error": "<b>call 555</b>"}, "sent you back without an answer"),
        ({"code": "made-up"}, "invalid_grant"),
    ],
)
def test_a_provider_s_error_is_shown(company, answer, said):
    with company.browser() as browser:
        state = answer_of(company.begin(browser))["state"]
        refused = browser.post("/session/provider", json={"state": state} | answer)
        assert (refused.status_code, said in refused.text, "555" in refused.text) == (401, True, False)
    with company.browser() as browser:  # without an attempt of its own nothing of the answer is repeated
        refused = browser.post("/session/provider", json={"state": state} | answer)
        assert (refused.status_code, "not started here" in refused.text) == (401, True)


def test_an_agent_on_the_machine_has_nothing_to_sign_in_with(company):
    """It can begin, as anybody can; the provider knows the person's browser, and not the agent."""
    company.enter("lea")
    company.provider.enter("s-lea", preferred_username="lea")
    with company.server.agent() as agent:
        url = agent.post("/session/provider/attempts", json={}).json()["url"]
        page = agent.get(url)
        assert (page.status_code, "The provider" in page.text) == (200, True)
        assert agent.post("/session/provider", json={"state": answer_of(url)["state"], "code": "x"}).status_code == 401


def test_console_pages_are_linkable_from_other_sites_but_not_their_data(company):
    from_the_provider = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with company.server.agent(**from_the_provider) as browser:
        assert browser.get("/ui/sign-in/account?code=a&state=b").status_code == 200
        assert browser.get("/", headers={"Accept": "text/html"}).status_code == 307
        for path in ("/me", "/decisions", "/session/providers"):
            assert browser.get(path).status_code == 403, path
        assert browser.post("/ui/x").status_code == 403
        assert browser.get("/ui/", headers={"Host": "evil.example"}).status_code == 403
        for name, value in (("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "no-cors")):
            assert browser.get("/ui/", headers={name: value}).status_code == 403, value


def test_over_https_both_cookies_are_bound_to_the_host(company):
    with company.browser() as browser:
        port = browser.base_url.port
        answer = browser.post(
            "/session/provider/attempts", json={}, headers={"Origin": f"https://127.0.0.1:{port}", **PAGE}
        )
    assert cookie_of(answer, "__Host-baton-attempt").endswith("; Secure")
    assert f"redirect_uri=https%3A%2F%2F127.0.0.1%3A{port}%2Fui" in answer.json()["url"]
