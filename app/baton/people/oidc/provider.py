"""The OpenID provider: its endpoints, its ID tokens, and their verification.

Only a server with `BATON_OIDC_ISSUER` imports this module, since importing authlib takes a quarter of a second. Every
answer is limited in bytes and time. Client secret, codes and tokens never reach logs or errors.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet
from joserfc.jws import JWSRegistry

from baton.kernel.base.errors import ProviderUnavailable, Unauthenticated
from baton.kernel.base.oidc_settings import LOOPBACK, OidcSettings
from baton.kernel.http.outbound_guard import outbound_tls
from baton.people.oidc.attempt import Account

SCOPE = "openid profile email"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Accepted signatures. None uses a shared secret: the holder of the client secret could sign as the provider."""
_PUBLIC = frozenset({"RSA", "EC"})
LONGEST_SUBJECT = 255
LASTS_S = 3_600.0  # cache duration of the provider's description and keys, in seconds
AGAIN_S = 60.0  # extra use of an old description while the provider is unavailable, in seconds
LEEWAY_S = 60  # tolerated clock difference to the provider, in seconds
TIMEOUT_S = 10.0  # timeout of all requests of one sign-in together, including the wait for a slot, in seconds
SILENCE_S = 4.0  # timeout of a silent connection to the provider, in seconds
MOST_AT_ONCE = 16
MOST_BYTES = 1 << 20  # maximum size of an answer, in bytes. A company's key set has about 10 KiB.

T = TypeVar("T")
log = logging.getLogger(__name__)
for _name in ("httpx2", "httpcore2"):  # they log each call's URL
    logging.getLogger(_name).setLevel(logging.WARNING)


class _Description(msgspec.Struct):
    """The used parts of the discovery document (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False  # RFC 9207


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Tokens(msgspec.Struct):
    id_token: str
    access_token: str = ""


class _Untrue(Exception):
    """Not a valid ID token."""


class _Bounded(httpx2.AsyncHTTPTransport):
    """A transport that stops reading oversized answers."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        parts: list[bytes] = []
        size = 0
        try:
            async for part in response.aiter_raw():
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise httpx2.ReadError(f"it answered with more than {MOST_BYTES} bytes", request=request)
        finally:
            await response.aclose()
        return httpx2.Response(response.status_code, headers=response.headers, content=b"".join(parts), request=request)


class OidcProvider:
    """The provider of one issuer. Its description and keys are loaded on demand and cached for an hour."""

    def __init__(
        self,
        settings: OidcSettings,
        *,
        now: Callable[[], float] = time.time,
        moment: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = settings.oidc_issuer
        self.name = settings.oidc_shown_name
        self._client_id = settings.oidc_client_id
        self._secret = settings.read_oidc_client_secret()
        self._now = now
        self._moment = moment
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._described: _Description | None = None
        self._described_at = 0.0
        self._describing = asyncio.Lock()
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._reading_keys = asyncio.Lock()

    async def url(self, *, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Return the URL of the provider's sign-in page. Raise ProviderUnavailable."""
        async with self._asking() as client:
            described = await self._description(client)
            url, _ = client.create_authorization_url(
                described.authorization_endpoint,
                state=state,
                nonce=nonce,
                code_verifier=verifier,
                redirect_uri=redirect_uri,
            )
        return str(url)

    async def account(self, code: str, *, redirect_uri: str, nonce: str, verifier: str, issuer: str) -> Account:
        """Return the account of a code. `issuer`: its `iss`. Raise ProviderUnavailable or Unauthenticated."""
        async with self._asking() as client:
            described = await self._description(client)
            if (issuer or described.authorization_response_iss_parameter_supported) and issuer != self.issuer:
                # Another provider's answer (RFC 9207): its code must not reach this token endpoint.
                raise Unauthenticated(f"this answer is not from {self.name}; start again")
            methods = described.token_endpoint_auth_methods_supported
            if self._secret and "client_secret_basic" not in methods and "client_secret_post" in methods:
                client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 - a method's name
            try:
                found = await client.fetch_token(
                    described.token_endpoint,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=verifier,
                    redirect_uri=redirect_uri,
                )
            except AuthlibBaseError as error:
                word = _word(error.error)
                log.warning("%s refused a sign-in: %s", self.issuer, word)
                if word in {"invalid_client", "unauthorized_client"}:
                    raise ProviderUnavailable(
                        f"{self.name} rejects this server's credentials (`{word}`); ask an admin to check BATON_OIDC_CLIENT_ID"
                        " and BATON_OIDC_CLIENT_SECRET"
                    ) from None
                raise Unauthenticated(f"{self.name} refused this sign-in (`{word}`); start again") from None
            tokens = msgspec.convert(dict(found), _Tokens)
            claims = await self._claims(client, described, tokens, nonce)
        return Account(self.issuer, claims)

    async def _claims(
        self, client: AsyncOAuth2Client, described: _Description, tokens: _Tokens, nonce: str
    ) -> dict[str, Any]:
        """Return the claims of an ID token. Raise Unauthenticated."""
        keys = await self._key_set(client, described)
        try:
            try:
                return self._checked(tokens, keys, nonce)
            except InvalidKeyIdError:
                pass  # a new key: the token is the provider's own, so strangers cannot trigger this reload
            keys = await self._key_set(client, described, again=True)
            return self._checked(tokens, keys, nonce)
        except (JoseError, _Untrue) as error:
            log.warning("an ID token of %s is refused: %s", self.issuer, _why(error))
            raise Unauthenticated(f"what {self.name} sent is invalid ({_why(error)}); ask an admin") from None

    def _checked(self, tokens: _Tokens, keys: KeySet, nonce: str) -> dict[str, Any]:
        """Verify an ID token (OpenID Connect Core 1.0, 3.1.3.7). Return its claims. Raise JoseError or _Untrue."""
        try:
            token = jwt.decode(
                tokens.id_token, key=keys, registry=JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
            )
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    # authlib does not require these two by itself.
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": self._client_id},
                },
                {"nonce": nonce, "client_id": self._client_id, "access_token": tokens.access_token},
            )
            claims.validate(now=int(self._now()), leeway=LEEWAY_S)
        except (TypeError, ValueError, OverflowError) as error:  # a header or claim of an unexpected type
            raise _Untrue from error
        subject = claims["sub"]
        if not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
            raise _Untrue
        return dict(claims)

    async def _description(self, client: AsyncOAuth2Client) -> _Description:
        async with self._describing:
            found = self._described
            if found is not None and self._moment() - self._described_at < LASTS_S:
                return found
            try:
                url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
                found = await _read(client, url, _Description)
                self._check(found)
            except (httpx2.HTTPError, msgspec.MsgspecError, ProviderUnavailable):
                if self._described is None:
                    raise
                # The old endpoints are most likely valid. Ask again in a minute.
                self._described_at = self._moment() - LASTS_S + AGAIN_S
                return self._described
            self._described, self._described_at = found, self._moment()
            return found

    def _check(self, described: _Description) -> None:
        if described.issuer != self.issuer:
            raise ProviderUnavailable(
                f"the provider's issuer is `{described.issuer[:300]}`, but BATON_OIDC_ISSUER is `{self.issuer}`; an admin must"
                " set it to the same"
            )
        is_local = urlsplit(self.issuer).scheme == "http"
        for url in (described.authorization_endpoint, described.token_endpoint, described.jwks_uri):
            parts = urlsplit(url)
            if parts.scheme != "https" and not (is_local and parts.scheme == "http" and parts.hostname in LOOPBACK):
                raise ProviderUnavailable(f"the provider's address `{url[:300]}` is not an `https://` URL")

    async def _key_set(self, client: AsyncOAuth2Client, described: _Description, *, again: bool = False) -> KeySet:
        async with self._reading_keys:
            if self._keys is not None and not again and self._moment() - self._keys_at < LASTS_S:
                return self._keys
            self._keys = _public(await _read(client, described.jwks_uri, _KeySet))
            self._keys_at = self._moment()
            return self._keys

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[AsyncOAuth2Client]:
        """Yield a client without shared cookies. Convert its errors into ProviderUnavailable."""
        try:
            async with asyncio.timeout(TIMEOUT_S), self._turns, self._client() as client:
                yield client
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, msgspec.MsgspecError, ValueError) as error:
            log.warning("the OpenID provider %s does not answer as one: %s", self.issuer, _why(error))
            raise ProviderUnavailable(
                f"{self.name} is unavailable ({_why(error)}); try again, or sign in with a token"
            ) from None

    def _client(self) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            client_id=self._client_id,
            client_secret=self._secret,
            scope=SCOPE,
            code_challenge_method="S256",
            transport=_Bounded(verify=outbound_tls(), trust_env=False),
            trust_env=False,
            follow_redirects=False,
            timeout=SILENCE_S,
            # A compressed answer could expand to a thousand times the counted size.
            headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "baton"},
        )


async def _read(client: AsyncOAuth2Client, url: str, kind: type[T]) -> T:
    answer = await client.request("GET", url, withhold_token=True)
    answer.raise_for_status()
    return msgspec.json.decode(answer.content, type=kind)


def _public(found: _KeySet) -> KeySet:
    """Return the possible signing keys. Skip encryption keys and unknown kinds."""
    keys: list[Key] = []
    for one in found.keys:
        if one.get("kty") in _PUBLIC and one.get("use", "sig") == "sig":
            try:
                keys.append(JWKRegistry.import_key(one))
            except (JoseError, ValueError, TypeError, KeyError):
                continue
    return KeySet(keys)


def _word(code: object) -> str:
    """Return an error's code, safe to show. A provider's sentences are not."""
    return "".join(c for c in str(code)[:60] if c.isascii() and (c.isalnum() or c in "_-.")) or "no reason"


def _why(error: Exception) -> str:
    """Describe an error briefly, without the request or the answer."""
    match error:
        case TimeoutError() | httpx2.TimeoutException():
            return "no answer in time"
        case httpx2.HTTPStatusError():
            return f"it answered {error.response.status_code}"
        case httpx2.ConnectError():
            return "no connection"
        case _Untrue():
            return "it is not an ID token"
        case JoseError():
            return _word(error.error) + (f": {_word(error.claim)}" if hasattr(error, "claim") else "")
        case msgspec.MsgspecError():
            return "its answer is invalid"
        case _:
            return type(error).__name__
