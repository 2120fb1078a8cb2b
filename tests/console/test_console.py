"""The console in a real browser: signing in, the live feed, a decision, keys, a phone."""

import pytest

from tests.console.conftest import PHONE
from tests.console.flood import first_paint

pytestmark = pytest.mark.slow("starts a browser")


def call(server, command, **more):
    payload = {"hook_event_name": "PreToolUse", "session_id": "console", "cwd": "/home/dev/shop", "tool_name": "Bash"}
    with server.client() as http:
        answer = http.post("/hooks/claude-code", json=payload | {"tool_input": {"command": command}} | more)
    assert answer.status_code == 200


def test_a_link_signs_in_once_and_leaves_no_trace_in_the_address(world, page):
    server, _ = world
    with server.client() as admin:
        path = admin.post("/session/links").json()["path"]
    page.goto(path)
    page.get_by_role("button", name="Sign out").wait_for()
    assert page.url == f"{server.console}/ui/"
    assert path.partition("#")[2] not in page.evaluate("() => JSON.stringify(history.state) + location.href")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to Baton").wait_for()
    page.goto(path)
    page.get_by_role("alert").wait_for()
    assert "already used" in page.get_by_role("alert").inner_text()
    page.troubles.clear()  # the browser counts the refusal as an error


def test_an_unknown_address_links_back(signed_in):
    signed_in.goto("/ui/nowhere/at/all")
    signed_in.get_by_role("heading", name="No such screen").wait_for()
    signed_in.get_by_role("main").get_by_role("link", name="Now").click()
    signed_in.get_by_role("heading", name="Now").wait_for()


def test_a_refused_call_appears_live_with_its_reason(world, signed_in):
    server, _ = world
    call(server, "sudo rm -rf / # the-first-call")
    row = signed_in.locator("[data-decision]", has_text="the-first-call")
    row.wait_for()
    assert "Refused" in row.inner_text()
    row.click()
    drawer = signed_in.get_by_role("dialog")
    drawer.get_by_text("guardrails/remove-root").first.wait_for()
    assert "It did not run." in drawer.inner_text()
    signed_in.keyboard.press("Escape")
    drawer.wait_for(state="hidden")


def test_a_paused_feed_does_not_change(world, signed_in):
    server, _ = world
    signed_in.get_by_role("button", name="Pause").click()
    call(server, "git status # while-paused")
    signed_in.wait_for_timeout(3_000)
    assert signed_in.locator("[data-decision]", has_text="while-paused").count() == 0
    signed_in.get_by_role("button", name="Go on").click()
    signed_in.locator("[data-decision]", has_text="while-paused").wait_for()


def test_filters_are_in_the_address_and_reachable_by_keyboard(world, signed_in):
    server, _ = world
    call(server, "git status # harmless")
    call(server, "sudo rm -rf / # harmful")
    signed_in.keyboard.press("g")
    signed_in.keyboard.press("d")
    signed_in.get_by_role("heading", name="Decisions").wait_for()
    signed_in.keyboard.press("/")
    assert signed_in.evaluate("() => document.activeElement.tagName") == "INPUT"
    signed_in.get_by_label("Effect").select_option("deny")
    signed_in.locator("[data-decision]", has_text="harmful").first.wait_for()
    signed_in.wait_for_url("**/ui/decisions?effect=deny")
    signed_in.locator("[data-decision]", has_text="harmless").first.wait_for(state="detached")
    signed_in.reload()
    signed_in.locator("[data-decision]", has_text="harmful").first.wait_for()
    assert signed_in.get_by_label("Effect").input_value() == "deny"


def test_agent_output_is_never_executed(world, signed_in):
    server, _ = world
    call(server, "echo '<img src=x onerror=alert(1)><script>alert(2)</script>' # scripted")
    row = signed_in.locator("[data-decision]", has_text="scripted")
    row.wait_for()
    assert "<img src=x onerror=alert(1)>" in row.inner_text()
    assert signed_in.locator("img").count() == 0


def test_the_first_paint_is_a_figure(world, signed_in, capsys):
    """The goal is a second; a machine that is busy with other tests decides nothing about it, so it is printed."""
    painted = first_paint(signed_in, loads=3)
    with capsys.disabled():
        print(f"\nfirst paint of Now: {painted} ms")
    assert min(painted) > 0


def test_nothing_is_wider_than_a_phone(world, signed_in):
    server, _ = world
    call(server, "echo " + "long " * 80)
    signed_in.set_viewport_size(PHONE)
    for path in ("/ui/", "/ui/decisions", "/ui/sign-in"):
        signed_in.goto(path)
        signed_in.get_by_role("heading", level=1).wait_for()
        assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path
