"""A provider, and a server for people with its accounts."""

import contextlib

import pytest

from tests.support.openid_provider import CLIENT_ID, SECRET, answer_of, providing
from tests.support.people import admin_token
from tests.support.server import serving

PAGE = {"Sec-Fetch-Site": "same-origin"}
RETURN = "/ui/sign-in/account"


class Company:
    """A server and its provider, and what a browser does with both."""

    def __init__(self, provider, server):
        self.provider = provider
        self.server = server

    def browser(self, **headers):
        """Return a browser of its own: with its own cookies, on a page of the server's."""
        return self.server.agent(**PAGE, Origin=self.server.url, **headers)

    def admin(self):
        return self.server.client(Authorization=f"Bearer {admin_token(self.server)}")

    def enter(self, name, **body):
        with self.admin() as admin:
            answer = admin.put(f"/users/{name}", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

    def begin(self, browser, return_to="/ui/"):
        answer = browser.post("/session/provider/attempts", json={"return_to": return_to})
        assert answer.status_code == 201, answer.text
        return answer.json()["url"]

    def answered(self, browser, sub, return_to="/ui/"):
        """Begin, and let the person say who they are; return what the page of the console would post."""
        return answer_of(self.provider.person_says(self.begin(browser, return_to), sub))

    def sign_in(self, browser, sub, return_to="/ui/"):
        return browser.post("/session/provider", json=self.answered(browser, sub, return_to))

    def audit(self, action):
        with self.admin() as admin:
            items = admin.get("/audit", params={"limit": 100}).json()["items"]
        return [one for one in items if one["action"] == action]


@contextlib.contextmanager
def company_of(home, provider, **env):
    settings = {
        "BATON_AUTH": "on",
        "BATON_OIDC_ISSUER": provider.issuer,
        "BATON_OIDC_CLIENT_ID": CLIENT_ID,
        "BATON_OIDC_CLIENT_SECRET": SECRET,
        "BATON_OIDC_NAME": "Acme",
    }
    with serving(home, **settings | env) as server:
        provider.client.redirect_uris.append(server.url + RETURN)
        yield Company(provider, server)


@pytest.fixture(scope="package")
def shared_company(tmp_path_factory):
    with providing() as provider, company_of(tmp_path_factory.mktemp("oidc") / "home", provider) as company:
        yield company


@pytest.fixture
def company(shared_company):
    """The company, of whose provider nothing is bent."""
    shared_company.provider.faults.clear()
    shared_company.provider.people.clear()
    return shared_company
