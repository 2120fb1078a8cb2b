"""Signing in with the company's account: a real browser, a real server, a real provider."""

import contextlib

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE, console_of, opened
from tests.people.oidc.conftest import RETURN, company_of
from tests.support.openid_provider import providing

pytestmark = pytest.mark.slow("starts a browser")


@pytest.fixture(scope="module")
def company(world, tmp_path_factory):
    with providing() as provider, company_of(tmp_path_factory.mktemp("account") / "home", provider) as company:
        # The provider is another site than the console: the cookie of neither goes along with its redirect.
        company.console = console_of(company.server)
        provider.client.redirect_uris.append(company.console + RETURN)
        provider.enter("s-ada", preferred_username="ada")
        provider.enter("s-eve", preferred_username="eve")
        company.enter("ada", role="lead")
        yield company


@contextlib.contextmanager
def browser_of(world, company):
    with opened(world[1], company.server) as page:
        yield page


def test_a_person_signs_in_with_their_account_and_is_back_where_they_were(world, company):
    with browser_of(world, company) as page:
        page.goto("/ui/decisions?effect=deny")
        page.get_by_role("link", name="Sign in", exact=True).click()
        page.get_by_role("button", name="Sign in with Acme").click()
        page.get_by_role("heading", name="The provider").wait_for()
        page.get_by_role("button", name="s-ada").click()
        page.get_by_text("ada · lead").wait_for()
        assert page.url == f"{company.console}/ui/decisions?effect=deny"
        page.reload()
        page.get_by_text("ada · lead").wait_for()
        cookies = {one["name"]: one for one in page.context.cookies(company.console)}
        (session,) = cookies.values()  # the attempt's is gone
        assert (session["httpOnly"], session["sameSite"]) == (True, "Strict")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in to Baton").wait_for()
        page.goto("about:blank")
        page.troubles.clear()  # what was asked for before signing in was refused


def test_a_refused_sign_in_shows_the_reason_and_a_retry(world, company):
    with browser_of(world, company) as page:
        page.goto("/ui/sign-in")
        page.get_by_role("button", name="Sign in with Acme").click()
        page.get_by_role("button", name="s-eve").click()
        assert "there is no user `eve`" in page.get_by_role("alert").inner_text()
        assert page.url == company.console + RETURN
        page.get_by_role("link", name="Back to signing in").click()
        page.get_by_role("button", name="Sign in with Acme").click()
        page.get_by_role("button", name="No", exact=True).click()
        assert "you or Acme refused" in page.get_by_role("alert").inner_text()
        page.goto(f"{RETURN}?code=stolen&state=stolen")
        assert "was not started here" in page.get_by_role("alert").inner_text()
        page.troubles.clear()  # the browser counts each refusal as an error


def test_a_token_signs_in_while_the_provider_is_unavailable(world, company):
    with browser_of(world, company) as page, company.admin() as admin:
        page.goto("/ui/sign-in")
        page.get_by_role("button", name="Sign in with Acme").wait_for()
        page.route("**/session/provider/attempts", lambda route: route.fulfill(
            status=503, content_type="application/problem+json", body='{"detail": "Acme cannot be asked now; sign in with a token"}'
        ))  # fmt: skip
        page.get_by_role("button", name="Sign in with Acme").click()
        assert "cannot be asked now" in page.get_by_role("alert").inner_text()
        text = admin.post("/tokens", json={"user": "ada", "role": "developer"}).json()["text"]
        page.get_by_label("Or with your token").fill(text)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_text("ada · developer").wait_for()
        page.troubles.clear()


def test_the_page_fits_a_phone_and_says_its_parts_to_a_screen_reader(world, company):
    with browser_of(world, company) as page:
        page.set_viewport_size(PHONE)
        for path in ("/ui/sign-in", f"{RETURN}?error=access_denied&state=x"):
            page.goto(path)
            page.get_by_role("heading", level=1).wait_for()
            page.wait_for_timeout(300)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path
            assert_accessible(page)
        page.troubles.clear()
