"""A real OpenID provider over HTTP: authlib's server side, with its own checks of clients, redirect URIs, PKCE, nonces.

`faults` changes its answers, for tests of a client's rejections.
"""

import base64
import hmac
import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import ERROR, getLogger
from urllib.parse import parse_qs, urlsplit

import flask
import httpx2
import werkzeug.serving
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT_ID, SECRET = "baton", "a-secret-of-the-provider"


@dataclass
class _Client(ClientMixin):
    redirect_uris: list
    method: str = "client_secret_basic"

    def get_client_id(self):
        return CLIENT_ID

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret):
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.method

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


@dataclass
class _Code(AuthorizationCodeMixin):
    code: str
    sub: str
    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str
    auth_time: int = field(default_factory=lambda: int(time.time()))

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return self.auth_time

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class _Person(dict):
    def get_user_id(self):
        return self["sub"]


def key(kid):
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


class OpenIdProvider:
    """The provider: `people` by subject with their claims; `seen` are the paths that it was asked for."""

    def __init__(self):
        self.people = {}
        self.codes = {}
        self.keys = [key("first")]
        self.client = _Client([])
        self.faults = {}
        self.seen = []
        self.issuer = ""
        self.app = flask.Flask("provider")
        server = AuthorizationServer(
            self.app, query_client=lambda name: self.client if name == CLIENT_ID else None, save_token=lambda *_: None
        )
        server.register_grant(self._grant(), [self._openid(), CodeChallenge(required=True)])
        self._routes(server)

    def _grant(provider):  # noqa: N805 - the grant has a `self` of its own
        class Grant(grants.AuthorizationCodeGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")

            def save_authorization_code(self, code, request):
                asked = request.payload.data
                provider.codes[code] = _Code(
                    code, request.user["sub"], asked["redirect_uri"], asked["scope"], asked.get("nonce", ""),
                    asked["code_challenge"], asked["code_challenge_method"],
                )  # fmt: skip
                return code

            def query_authorization_code(self, code, client):
                return provider.codes.get(code)

            def delete_authorization_code(self, authorization_code):
                if not provider.faults.get("codes_last"):
                    del provider.codes[authorization_code.code]

            def authenticate_user(self, authorization_code):
                return provider.people[authorization_code.sub]

        return Grant

    def _openid(provider):  # noqa: N805
        class OpenID(OpenIDCode):
            def exists_nonce(self, nonce, request):
                return False

            def get_client_algorithm(self, client):
                return "RS256"

            def get_client_claims(self, client):
                return {"iss": provider.issuer}

            def resolve_client_private_key(self, client):
                return provider.keys[0]

            def generate_user_info(self, user, scope):
                return user

            def encode_id_token(self, token, request):
                claims = jwt.decode(super().encode_id_token(token, request), provider.keys[0]).claims
                return provider.signed(claims | provider.faults.get("claims", {}))

        return OpenID(require_nonce=True)

    def signed(self, claims):
        claims = {name: value for name, value in claims.items() if value is not None}
        how = self.faults.get("signature", "RS256")
        kid = self.keys[-1].kid
        if how == "none":
            return by_hand({"alg": "none", "kid": kid}, claims)
        if how == "HS256 by the secret":
            return by_hand({"alg": "HS256", "kid": "secret"}, claims, (SECRET * 2).encode())
        if how == "HS256 by the public key":  # no library makes one
            return by_hand({"alg": "HS256", "kid": kid}, claims, self.keys[-1].as_pem(private=False))
        if how == "another key":
            return jwt.encode({"alg": "RS256", "kid": kid}, claims, key("first"))
        if how == "a key in the token":
            own = key("own")
            return jwt.encode({"alg": "RS256", "jwk": own.as_dict(private=False), "kid": "own"}, claims, own)
        return jwt.encode({"alg": how, "kid": kid}, claims, self.keys[-1])

    def _routes(self, server):
        @self.app.before_request
        def _note():
            self.seen.append(flask.request.path)
            if "wait_s" in self.faults:
                time.sleep(self.faults["wait_s"])
            if "answer" in self.faults.get(flask.request.path, {}):
                return self.faults[flask.request.path]["answer"]
            return None

        @self.app.get("/.well-known/openid-configuration")
        def _description():
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                "token_endpoint_auth_methods_supported": [self.client.method],
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
            } | self.faults.get("description", {})

        @self.app.get("/keys")
        def _keys():
            secret = OctKey.import_key(SECRET * 2, {"kid": "secret"}).as_dict()
            encryption = key("encryption").as_dict(private=False) | {"use": "enc", "alg": "RSA-OAEP"}
            return {"keys": [encryption, secret, *(one.as_dict(private=False) for one in self.keys)]}

        @self.app.route("/authorize", methods=["GET", "POST"])
        def _authorize():
            grant = server.get_consent_grant()
            grant.validate_authorization_request()
            if flask.request.method == "GET":
                people = "".join(f'<button name="sub" value="{sub}">{sub}</button>' for sub in self.people)
                return (
                    f'<h1>The provider</h1><form method="post">{people}<button name="sub" value="">No</button></form>'
                )
            person = self.people.get(flask.request.form["sub"])
            return server.create_authorization_response(grant_user=person, grant=grant)

        @self.app.post("/token")
        def _token():
            return server.create_token_response()

    def enter(self, sub, **claims):
        """Have a person, who may have an account under any name."""
        self.people[sub] = _Person(sub=sub, **claims)

    def person_says(self, url, sub):
        """Do what a person does at the provider's page; return what the browser is sent back with."""
        with httpx2.Client(trust_env=False) as browser:
            assert browser.get(url).status_code == 200
            answer = browser.post(url, data={"sub": sub})
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]


def by_hand(header, claims, secret=b""):
    """Return a token that is signed with a shared secret, or with nothing."""
    said = b".".join(base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, claims))
    signature = hmac.digest(secret, said, "sha256") if secret else b""
    return (said + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def answer_of(location):
    """Return what stands in the address that a provider sends a browser back to."""
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


@contextmanager
def providing():
    """Serve a provider on a free port of loopback."""
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # of authlib's server side; a provider on loopback has no TLS
    getLogger("werkzeug").setLevel(ERROR)
    provider = OpenIdProvider()
    server = werkzeug.serving.make_server("127.0.0.1", 0, provider.app, threaded=True)
    server.daemon_threads = True
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    provider.server = server
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
