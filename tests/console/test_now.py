"""Now in a real browser: the stream shared by all tabs, the feed, its counts, and their owners."""

import signal

import pytest

from tests.console.conftest import PHONE
from tests.console.flood import Flood, measure
from tests.support.server import serving

pytestmark = pytest.mark.slow("starts a browser")


def call(server, command, user=None, session="now"):
    payload = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/home/dev/shop", "tool_name": "Bash"}
    with server.client(**({"Baton-User": user} if user else {})) as http:
        answer = http.post("/hooks/claude-code", json=payload | {"tool_input": {"command": command}})
    assert answer.status_code == 200


def sign_in(server, page, user=None):
    with server.client(**({"Baton-User": user} if user else {})) as http:
        path = http.post("/session/links").json()["path"]
    page.goto(f"http://baton.localhost:{server.url.rpartition(':')[2]}{path}")
    page.get_by_role("button", name="Sign out").wait_for()


def live(page):
    return page.locator("[data-connection=live]")


def row(page, text):
    return page.locator("[data-decision]", has_text=text)


def figure(page, name):
    return page.get_by_role("region", name="Counts").get_by_role("link", name=name)


def test_an_empty_page_shows_steps_and_marks_completed_ones(world, page, tmp_path):
    with serving(tmp_path / "home") as server:
        sign_in(server, page)
        steps = page.get_by_role("region", name="First steps")
        page.get_by_text("No calls yet").wait_for()
        assert steps.locator("[data-done=true]").all_inner_texts() == ["The server runs"]
        call(server, "sudo rm -rf / # first")
        steps.locator("[data-done=true]", has_text="The first call was refused").wait_for()
        layer = {"files": {"config.yaml": "rules: {}\n"}}
        with server.client() as http:
            http.put("/policies/layers/organisation?activate=true", json=layer).raise_for_status()
        steps.wait_for(state="detached")
        page.goto("about:blank")  # it would miss its server


FOR_A_LEAD = """
id: team/deploys
description: The lead approves deploys.
match: {shell: {program: deploy}}
decision: ask
approvers: [lead]
reason: Deploys need the lead.
tests: {match: [deploy prod], not_match: [make]}
"""


def test_a_freeze_is_an_alarm_with_its_author_and_reason(world, page):
    server, _ = world
    sign_in(server, page)
    with server.client() as http:
        http.put("/freezes", json={"scope": "session", "id": "iced", "reason": "incident 7"}).raise_for_status()
    page.goto("/ui/")
    page.get_by_role("region", name="Alarms").get_by_text("Frozen: session iced by").wait_for()
    with server.client() as http:
        http.delete("/freezes", params={"scope": "session", "id": "iced"}).raise_for_status()


def test_an_unanswerable_request_is_an_alarm(fresh):
    server, page = fresh
    with server.client() as http:
        body = {"files": {"team/deploys.yaml": FOR_A_LEAD}}
        http.put("/policies/layers/organisation?activate=true", json=body).raise_for_status()
    call(server, "deploy prod")
    page.reload()
    page.get_by_role("region", name="Alarms").get_by_text("for lead").wait_for()
    page.goto("about:blank")


def test_every_count_is_a_link_to_the_list_that_it_counts(world, signed_in):
    server, _ = world
    call(server, "sudo rm -rf / # counted")
    figure(signed_in, "refused today").get_by_text("0", exact=True).wait_for(state="detached")
    figure(signed_in, "refused today").click()
    signed_in.get_by_role("heading", name="Decisions").wait_for()
    assert "effect=deny" in signed_in.url
    assert "since=" in signed_in.url
    row(signed_in, "counted").first.wait_for()
    signed_in.goto("/ui/")
    figure(signed_in, "would have been refused").click()
    signed_in.wait_for_url("**/ui/decisions?effect=shadow*")
    signed_in.goto("/ui/")
    signed_in.get_by_role("button", name="Table").click()
    signed_in.get_by_role("region", name="as a table").get_by_role("row").nth(1).wait_for()


def test_a_paused_list_counts_new_rows(world, signed_in):
    server, _ = world
    live(signed_in).wait_for()
    signed_in.keyboard.press("Space")
    signed_in.get_by_role("button", name="Go on").wait_for()
    for number in range(3):
        call(server, f"git status # held-{number}")
    signed_in.get_by_role("button", name="3 new").wait_for()
    assert row(signed_in, "held-").count() == 0
    signed_in.get_by_role("button", name="3 new").click()
    row(signed_in, "held-2").wait_for()
    row(signed_in, "held-2").click()
    signed_in.get_by_role("dialog").wait_for()
    assert "id=" in signed_in.url
    call(server, "git status # behind-the-drawer")
    signed_in.get_by_text("1 new").wait_for()
    signed_in.keyboard.press("Escape")
    row(signed_in, "behind-the-drawer").wait_for()


def test_it_is_live_again_after_the_server_was_killed(world, page, tmp_path):
    with serving(tmp_path / "home", PORT="0") as server:
        sign_in(server, page)
        live(page).wait_for()
        server.env["PORT"] = server.url.rpartition(":")[2]
        call(server, "git status # before")
        row(page, "before").wait_for()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        page.get_by_text("Reconnecting…").wait_for()
        row(page, "before").wait_for()
        server.start()
        call(server, "git status # after")
        live(page).wait_for()
        row(page, "after").wait_for()
        assert row(page, "before").count() == 1
        page.goto("about:blank")
        page.troubles.clear()  # the browser counts the refused connections as errors


def test_eight_tabs_of_one_browser_are_all_live(world, signed_in):
    server, _ = world
    tabs = [signed_in, *(signed_in.context.new_page() for _ in range(7))]
    for tab in tabs[1:]:
        tab.goto("/ui/")
    for tab in tabs:
        live(tab).wait_for(timeout=60_000)
    call(server, "git status # in-every-tab")
    for tab in tabs:
        tab.bring_to_front()  # a hidden tab draws no frames
        row(tab, "in-every-tab").wait_for(timeout=60_000)


def test_two_people_never_see_each_other_s_calls(world, page):
    server, browser = world
    other = browser.new_context(base_url=server.console).new_page()
    sign_in(server, page, "dora-now")
    sign_in(server, other, "eve-now")
    for one in (page, other):
        live(one).wait_for()
    call(server, "git status # of-dora", "dora-now", "d")
    call(server, "git status # of-eve", "eve-now", "e")
    row(page, "of-dora").wait_for()
    row(other, "of-eve").wait_for()
    assert (row(page, "of-eve").count(), row(other, "of-dora").count()) == (0, 0)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to Baton").wait_for()
    sign_in(server, page, "eve-now")
    row(page, "of-eve").wait_for()
    assert row(page, "of-dora").count() == 0
    other.context.close()
    page.troubles.clear()  # requests that were on their way at the sign-out


def test_five_hundred_decisions_a_second_leave_the_tab_responsive(world, signed_in):
    server, _ = world
    live(signed_in).wait_for()
    with Flood(server) as flood:
        found = measure(signed_in, seconds=10)
        signed_in.get_by_role("button", name="Pause").click()
    assert flood.sent > 1_000
    assert found.rows > 10, found
    # Generous, since others may use the machine: a page that renders each event draws nearly no frame in time.
    assert found.slow < found.frames / 2, found
    assert found.lag50 < 5_000, found


def test_a_phone_shows_all_of_it(world, signed_in):
    server, _ = world
    call(server, "echo " + "long " * 80)
    signed_in.set_viewport_size(PHONE)
    row(signed_in, "long").first.wait_for()
    assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
