"""Insight in a browser: an empty server, a day of calls, a table and its file, and each person's own figures."""

import csv
import io

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE, WIDE
from tests.console.test_console import call
from tests.support.http_calls import ok
from tests.support.server import serving, until

pytestmark = pytest.mark.slow("starts a browser")
AGENT = {"tool_name": "Agent", "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"}}


def report_tokens(client, session, model="claude-haiku-4-5"):
    """Let a session start an agent that reports a million tokens."""
    ended = {"resolvedModel": model, "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}
    event = {"session_id": session, "cwd": "/home/dev/shop", "tool_use_id": session} | AGENT
    ok(client.post("/hooks/claude-code", json=event | {"hook_event_name": "PreToolUse"}))
    ok(client.post("/hooks/claude-code", json=event | {"hook_event_name": "PostToolUse", "tool_response": ended}))
    until(lambda: client.get("/analytics/cost", params={"session_id": session}).json()["items"])


def test_an_empty_server_shows_the_next_step_and_a_day_of_calls_every_chart(fresh):
    server, page = fresh
    page.goto("/ui/insight")
    page.get_by_text("Nobody reported a wrong block").wait_for()
    page.get_by_text("No sub-agent reported its usage, and no job ran.").wait_for()
    call(server, "sudo rm -rf / # for-insight")
    with server.client() as admin:
        report_tokens(admin, "insight-1")
        admin.post("/hooks/codex", content=b"no json")
        until(lambda: admin.get("/analytics/latency").json()["failures"])
    page.reload()
    for title in ("Delegation share", "Cost", "Blocked by rule", "Time to decide", "Fail-opens and degraded"):
        page.get_by_role("region", name=title, exact=True).locator("canvas").wait_for()
    assert "$1.00" in page.get_by_text("Agents' cost").locator("..").inner_text()
    assert "claude-code" in page.get_by_role("region", name="Last call by client").inner_text()
    assert_accessible(page)


def test_a_chart_has_a_table_a_file_and_its_period_in_the_address(world, signed_in):
    server, _ = world
    with server.client() as admin:
        report_tokens(admin, "insight-2")
    signed_in.goto("/ui/insight?since=30d&by=model")
    cost = signed_in.get_by_role("region", name="Cost", exact=True)
    cost.locator("canvas").wait_for()
    cost.get_by_role("button", name="Table").click()
    assert "claude-haiku-4-5" in cost.get_by_role("table").inner_text()
    with signed_in.expect_download() as saved:
        cost.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == "cost-by-model.csv"
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text())))
    assert "claude-haiku-4-5" in {row["group"] for row in rows}
    cost.get_by_label("Costs by").select_option("user")
    signed_in.wait_for_url("**/ui/insight?since=30d&by=user")
    signed_in.get_by_text("Week", exact=True).click()
    signed_in.wait_for_url("**/ui/insight?since=7d&by=user")


def test_charts_follow_the_colours_and_fit_a_phone(world, signed_in):
    server, _ = world
    call(server, "git status # for-a-phone")
    signed_in.set_viewport_size(PHONE)
    signed_in.goto("/ui/insight")
    chart = signed_in.get_by_role("region", name="Time to decide", exact=True).locator("canvas")
    chart.wait_for()
    drawn = "(canvas) => canvas.toDataURL()"
    before = chart.evaluate(drawn)
    signed_in.get_by_role("button", name="Dark colours").click()
    until(lambda: chart.evaluate(drawn) != before)
    assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    signed_in.get_by_role("button", name="Light colours").click()


def test_a_developer_sees_their_own_figures_only(world, tmp_path):
    _, browser = world
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as admin:
            made = {
                name: ok(admin.post("/tokens", json={"user": name, "role": "developer"}), 201)["text"]
                for name in ("ann", "bob")
            }
        with server.client(Authorization=f"Bearer {made['ann']}") as ann:
            report_tokens(ann, "of-ann")
        shown = {}
        for name, text in made.items():
            context = browser.new_context(
                viewport=WIDE, base_url=f"http://baton.localhost:{server.url.rpartition(':')[2]}"
            )
            page = context.new_page()
            page.goto("/ui/sign-in")
            page.get_by_label("Or with your token").fill(text)
            page.get_by_role("button", name="Sign in", exact=True).last.click()
            page.get_by_role("button", name="Sign out").wait_for()
            page.goto("/ui/insight")
            page.get_by_role("region", name="Last call by client").get_by_text("claude-code").or_(
                page.get_by_text("No client has sent anything.")
            ).wait_for()
            page.get_by_text("$1.00").or_(page.get_by_text("$0.00").first).first.wait_for()
            shown[name] = page.get_by_role("main").inner_text()
            context.close()
    assert "$1.00" in shown["ann"]
    assert "$1.00" not in shown["bob"]
    assert "ann" not in shown["bob"].split()
