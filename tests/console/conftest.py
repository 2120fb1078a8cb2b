"""A real Chromium over a real server; without Chromium these tests are skipped."""

import contextlib
import shutil

import pytest

from tests.support.server import serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server with a few calls of each kind, and a browser."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r requirements/browser.txt")
    with serving(tmp_path_factory.mktemp("console") / "home") as server, playwright.sync_playwright() as driver:
        server.console = console_of(server)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield server, browser
        browser.close()


@contextlib.contextmanager
def opened(browser, server):
    """A page of a server that complains about every error of the browser: scripts, refused contents, refused styles."""
    context = browser.new_context(viewport=WIDE, base_url=console_of(server))
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    yield page
    context.close()
    assert page.troubles == []


def console_of(server):
    return f"http://baton.localhost:{server.url.rpartition(':')[2]}"


def sign_in(page, server):
    """Sign the page in by a link."""
    with server.client() as admin:
        page.goto(admin.post("/session/links").json()["path"])
    page.get_by_role("button", name="Sign out").wait_for()


def settled(page):
    """Wait until the screen has loaded what it shows. It holds a stream, so the network is never idle."""
    page.get_by_role("heading", level=1).first.wait_for()
    page.get_by_label("Loading").first.wait_for(state="hidden")
    page.wait_for_timeout(500)


def counted(found, number):
    """Wait until a locator finds this number of elements."""
    from playwright.sync_api import expect  # noqa: PLC0415 - the tests must load without a browser

    expect(found).to_have_count(number, timeout=60_000)


def pick(scope, label, name):
    """Pick a known name in a field."""
    scope.get_by_role("combobox", name=label).or_(scope.get_by_role("textbox", name=label)).first.fill(name)
    page = getattr(scope, "page", scope)
    page.get_by_role("option", name=name, exact=True).click()


@pytest.fixture
def page(world):
    server, browser = world
    with opened(browser, server) as page:
        yield page


@pytest.fixture
def signed_in(world, page):
    """The page, signed in by a link, at home."""
    server, _ = world
    sign_in(page, server)
    return page


@pytest.fixture
def fresh(world, tmp_path):
    """A server of the test's own, on which nothing has happened yet, and a page that is signed in there."""
    _, browser = world
    with serving(tmp_path / "fresh") as server, opened(browser, server) as page:
        sign_in(page, server)
        yield server, page
