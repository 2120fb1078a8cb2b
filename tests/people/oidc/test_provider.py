"""An unavailable, slow, misconfigured or strange provider, and the reading of its clock and keys."""

import time

import pytest
from joserfc.jwk import ECKey

from baton.kernel.base.errors import ProviderUnavailable, Unauthenticated
from baton.kernel.base.settings import Settings
from baton.people.oidc import provider as provider_module
from baton.people.oidc.provider import LASTS_S, LEEWAY_S, OidcProvider
from tests.people.oidc.conftest import PAGE, company_of
from tests.support.http_calls import ok
from tests.support.openid_provider import CLIENT_ID, SECRET, OpenIdProvider, answer_of, providing
from tests.support.people import admin_token
from tests.support.server import free_port

BACK = "http://127.0.0.1:1/ui/sign-in/account"
OWN = {"redirect_uri": BACK, "nonce": "n" * 43, "verifier": "v" * 43}


@pytest.fixture(scope="module")
def running():
    with providing() as provider:
        provider.client.redirect_uris.append(BACK)
        provider.enter("s-ada", preferred_username="ada")
        yield provider


@pytest.fixture
def openid(running):
    running.faults.clear()
    running.client.method = "client_secret_basic"
    return running


class Clock:
    def __init__(self):
        self.at = time.time()

    def __call__(self):
        return self.at


def client_of(openid, **more):
    clock = more.pop("clock", Clock())
    settings = {"auth": "on", "oidc_issuer": openid.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SECRET}
    return OidcProvider(Settings(**settings | {"oidc_name": "Acme"} | more), now=clock, moment=clock)


async def code_of(openid, client):
    return answer_of(openid.person_says(await client.url(state="s" * 43, **OWN), "s-ada"))["code"]


async def signed_in(openid, client):
    return await client.account(await code_of(openid, client), issuer="", **OWN)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_the_server_proves_itself_as_the_provider_wants(openid, method):
    openid.client.method = method
    account = await signed_in(openid, client_of(openid))
    assert (account.claims["sub"], account.text) == ("s-ada", f"{openid.issuer} s-ada")


async def test_a_client_without_a_secret_has_pkce(openid):
    openid.client.method = "none"
    assert (await signed_in(openid, client_of(openid, oidc_client_secret=""))).claims["sub"] == "s-ada"


async def test_a_secret_may_be_in_a_file(openid, tmp_path):
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    client = client_of(openid, oidc_client_secret="", oidc_client_secret_file=tmp_path / "secret")
    assert (await signed_in(openid, client)).claims["sub"] == "s-ada"


async def test_a_provider_may_sign_with_an_elliptic_curve(openid):
    openid.keys.append(ECKey.generate_key("P-256", {"kid": "curve", "use": "sig"}))
    openid.faults["signature"] = "ES256"
    try:
        assert (await signed_in(openid, client_of(openid))).claims["sub"] == "s-ada"
    finally:
        openid.keys.pop()


async def test_a_wrong_secret_is_an_operator_error(openid):
    client = client_of(openid, oidc_client_secret="another-secret")
    with pytest.raises(ProviderUnavailable) as failed:
        await signed_in(openid, client)
    assert "BATON_OIDC_CLIENT_SECRET" in failed.value.detail
    assert "another-secret" not in failed.value.detail


@pytest.mark.parametrize(
    ("off", "taken"),
    [(0, True), (LEEWAY_S - 10, True), (10 - LEEWAY_S, True), (-LEEWAY_S - 10, False), (2 * 3_600, False)],
)
async def test_clocks_may_differ_by_a_minute(openid, off, taken):
    clock = Clock()
    clock.at += off
    client = client_of(openid, clock=clock)
    if taken:
        assert (await signed_in(openid, client)).claims["sub"] == "s-ada"
    else:
        with pytest.raises(Unauthenticated):
            await signed_in(openid, client)


async def test_the_provider_s_metadata_is_cached_for_an_hour_and_outages(openid):
    clock = Clock()
    client = client_of(openid, clock=clock)
    openid.seen.clear()
    await client.url(state="s" * 43, **OWN)
    await client.url(state="s" * 43, **OWN)
    described = "/.well-known/openid-configuration"
    assert openid.seen == [described]
    clock.at += LASTS_S
    await client.url(state="s" * 43, **OWN)
    assert openid.seen == [described] * 2
    clock.at += LASTS_S
    openid.faults[described] = {"answer": ("", 503)}
    assert (await client.url(state="s" * 43, **OWN)).startswith(f"{openid.issuer}/authorize?")


FAULTS = {
    "it has a fault": ({"/.well-known/openid-configuration": {"answer": ("", 500)}}, "it answered 500"),
    "it is elsewhere": (
        {"/.well-known/openid-configuration": {"answer": ("", 302, {"Location": "http://127.0.0.1:1/"})}},
        "it answered 302",
    ),
    "it is no provider": ({"/.well-known/openid-configuration": {"answer": "<html>"}}, "its answer is invalid"),
    "it is no provider's JSON": ({"/.well-known/openid-configuration": {"answer": "[]"}}, "its answer is invalid"),
    "it answers without end": (
        {"/.well-known/openid-configuration": {"answer": " " * (provider_module.MOST_BYTES + 1)}},
        "ReadError",
    ),
    "it names itself otherwise": ({"description": {"issuer": "https://evil.example"}}, "the provider's issuer is"),
    "it leaves TLS": ({"description": {"token_endpoint": "http://evil.example/token"}}, "is not an `https://` URL"),
    "its page is no page": (
        {"description": {"authorization_endpoint": "javascript:alert(1)"}},
        "is not an `https://` URL",
    ),
}


@pytest.mark.parametrize(("faults", "said"), FAULTS.values(), ids=FAULTS.keys())
async def test_an_invalid_provider_is_reported_unavailable(openid, faults, said):
    openid.faults.update(faults)
    with pytest.raises(ProviderUnavailable) as failed:
        await client_of(openid).url(state="s" * 43, **OWN)
    assert said in failed.value.detail


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("/token", ("", 500), "it answered 500"),
        ("/token", "<html>", "Acme is unavailable"),
        ("/token", "{}", "Acme is unavailable"),
        ("/token", '{"id_token": 7}', "Acme is unavailable"),
        ("/keys", ("", 404), "it answered 404"),
        ("/keys", "{}", "its answer is invalid"),
    ],
)
async def test_invalid_tokens_or_keys_sign_no_one_in(openid, path, answer, said):
    client = client_of(openid)
    code = await code_of(openid, client)
    openid.faults[path] = {"answer": answer}
    with pytest.raises(ProviderUnavailable) as failed:
        await client.account(code, issuer="", **OWN)
    assert said in failed.value.detail
    assert code not in failed.value.detail


@pytest.mark.parametrize("keys", ['{"keys": []}', '{"keys": [{"kty": "oct", "k": "AAAA"}, {"kty": "RSA"}, {"x": 1}]}'])
async def test_keys_that_could_not_have_signed_are_left_out(openid, keys):
    client = client_of(openid)
    code = await code_of(openid, client)
    openid.faults["/keys"] = {"answer": keys}
    with pytest.raises(Unauthenticated):
        await client.account(code, issuer="", **OWN)


async def test_a_provider_that_promises_its_name_must_give_it(openid):
    openid.faults["description"] = {"authorization_response_iss_parameter_supported": True}
    client = client_of(openid)
    code = await code_of(openid, client)
    with pytest.raises(Unauthenticated):
        await client.account(code, issuer="", **OWN)
    assert (await client.account(code, issuer=openid.issuer, **OWN)).claims["sub"] == "s-ada"


async def test_a_slow_provider_is_given_up(openid, monkeypatch):
    monkeypatch.setattr(provider_module, "TIMEOUT_S", 0.3)
    openid.faults["wait_s"] = 3
    with pytest.raises(ProviderUnavailable) as failed:
        await client_of(openid).url(state="s" * 43, **OWN)
    assert "no answer in time" in failed.value.detail


async def test_secrets_are_in_no_log_line(openid, caplog):
    caplog.set_level("DEBUG")
    client = client_of(openid)
    code = await code_of(openid, client)
    await client.account(code, issuer="", **OWN)
    with pytest.raises(Unauthenticated):
        await client.account(code, issuer="", **OWN)
    ours = "".join(one.getMessage() for one in caplog.records if one.name.startswith(("baton", "httpx", "httpcore")))
    assert "invalid_grant" in ours
    for secret in (code, SECRET, OWN["verifier"], OWN["nonce"]):
        assert secret not in ours


@pytest.mark.slow
def test_without_the_provider_hooks_are_answered_and_tokens_sign_in(tmp_path):
    away = OpenIdProvider()
    away.issuer = f"http://127.0.0.1:{free_port()}"
    with company_of(tmp_path / "home", away, BATON_ADMIN_PER_MINUTE="6") as company, company.browser() as browser:
        assert browser.get("/session/providers").json() == {"items": [{"name": "Acme"}]}
        failed = browser.post("/session/provider/attempts", json={})
        assert (failed.status_code, failed.json()["code"]) == (503, "provider_unavailable")
        assert "sign in with a token" in failed.json()["detail"]
        text = admin_token(company.server)
        call = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
        with company.server.agent(Authorization=f"Bearer {text}") as hook:
            assert ok(hook.post("/pre-tool-use", json=call))["decision"] == "allow"
        assert browser.post("/session", json={"token": text}, headers=PAGE).status_code == 201
        # Nobody knows yet who asks, so they are counted by address, however they sign in.
        asked = [browser.post("/session/provider", json={"state": "s", "code": "c"}).status_code for _ in range(5)]
        assert asked == [401] * 4 + [429]
