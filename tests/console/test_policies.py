"""Policies in a browser: a rule is made of a decision, tested, replayed, activated, obeyed by the next call, rolled back."""

import re

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE
from tests.policies.test_layers_api import rule
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser")


def decided(server, command, **headers):
    """Return the id of the decision on a call, once it is stored, and the hook's answer."""
    payload = {"hook_event_name": "PreToolUse", "session_id": "rules", "cwd": "/home/dev/shop", "tool_name": "Bash"}
    with server.client(**headers) as http:
        answer = http.post("/hooks/claude-code", json=payload | {"tool_input": {"command": command}})
        assert answer.status_code == 200
        decision = answer.headers["baton-decision-id"]
        until(lambda: http.get(f"/decisions/{decision}").status_code == 200)
        return decision, answer.json()


@pytest.fixture
def no_layers(world):
    """Take the organisation's layer out of force before and after."""
    server, _ = world

    def clear():
        with server.client() as http:
            http.delete("/policies/layers/organisation", headers={"If-Match": "*"})

    clear()
    yield server
    clear()


def type_over(page, before, after):
    """Replace a text in the editor, by the keyboard."""
    line = page.locator(".cm-line", has_text=before).first
    line.click()
    page.keyboard.press("End")
    for _ in before:
        page.keyboard.press("Backspace")
    page.keyboard.type(after)


def test_a_rule_is_made_of_a_decision_tested_replayed_activated_and_rolled_back(no_layers, signed_in):
    server, page = no_layers, signed_in
    for _ in range(3):
        decision, answer = decided(server, "frobnicate prod")
    assert answer == {}
    page.goto(f"/ui/decisions?id={decision}")
    drawer = page.get_by_role("dialog")
    drawer.get_by_text("No rule matched.").wait_for()
    drawer.get_by_role("button", name="Make a rule").wait_for()
    page.keyboard.press("t")
    page.get_by_role("button", name="Stop such calls with a rule").wait_for()
    page.get_by_role("button", name="Stop such calls with a rule").click()

    # The rule is there with its test, and the tests pass.
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    page.wait_for_url("**/ui/policies/organisation?*file=own*")
    assert "frobnicate" in page.locator(".cm-content").inner_text()

    # A wrong value is shown at its line, and the way back.
    type_over(page, "deny", "dney")
    page.get_by_text("Not accepted: 1 problem").wait_for()
    page.get_by_role("button", name=re.compile(r"no-frobnicate-prod\.yaml:\d")).wait_for()
    page.locator(".cm-lintRange-error", has_text="dney").wait_for()
    assert page.get_by_role("button", name="Activate", exact=True).is_disabled()
    type_over(page, "dney", "deny")
    page.get_by_text("Accepted: 2 tests pass").wait_for()

    page.get_by_role("tab", name="Difference").click()
    page.get_by_text("id: own/no-frobnicate-prod").wait_for()

    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="Replay the draft").click()
    page.get_by_text(re.compile(r"(\d+) of \1 calls, 3 would be decided otherwise")).wait_for()
    changed = page.get_by_role("table", name="Calls with another decision")
    assert changed.get_by_text("frobnicate prod").count() == 3
    assert "deny by own/no-frobnicate-prod" in changed.inner_text()

    page.get_by_role("tab", name="Edit").click()
    page.get_by_role("button", name="Activate", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(re.compile(r"of \d+ calls?, 3 would be decided otherwise")).wait_for()
    dialog.get_by_text(re.compile(r"the organisation from the next call on: \d+ p.* with \d+ session")).wait_for()
    dialog.get_by_label("Why").fill("it broke the shop")
    dialog.get_by_role("button", name="Activate it").click()
    dialog.get_by_text("`description` is still the placeholder").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    type_over(page, "State in one sentence the forbidden action and the reason.", "It stops the shop.")
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    activate(page, "it broke the shop")
    answer = until(lambda: decided(server, "frobnicate prod")[1])
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"

    page.goto("/ui/policies?q=frobnicate")
    page.locator("[data-rule='own/no-frobnicate-prod']").get_by_role("link", name=re.compile(r"\d+")).wait_for()

    page.goto("/ui/policies/organisation")
    page.get_by_text("it broke the shop").first.wait_for()
    page.get_by_role("button", name="Switch off").click()
    page.get_by_text("No own rules").wait_for()
    assert until(lambda: decided(server, "frobnicate prod")[1] == {})
    page.troubles.clear()  # the refused placeholder


def activate(page, why=""):
    """Activate the open draft."""
    page.get_by_role("button", name="Activate", exact=True).click()
    page.get_by_role("dialog").get_by_label("Why").fill(why)
    page.get_by_role("button", name="Activate it").click()
    said = page.get_by_text(re.compile(r"Version \d+ is in force")).or_(page.get_by_role("alert")).first
    assert "in force" in said.inner_text()


def test_a_refusal_by_a_locked_rule_offers_ways_that_end_and_one_click_undoes(no_layers, signed_in):
    server, page = no_layers, signed_in
    decision, _ = decided(server, "sudo rm -rf / # locked")
    page.goto(f"/ui/decisions?id={decision}")
    page.get_by_role("button", name="Change this").click()
    page.get_by_text("is locked by the organisation").wait_for()
    assert_accessible(page)
    ways = page.locator(".way").evaluate_all("all => all.map(one => one.firstElementChild.textContent)")
    assert ways == ["Keep as a test", "Write a stricter rule of my own", "Unlock the rule for a time"]
    page.get_by_label("A rule applies to").select_option("user")
    page.get_by_role("button", name="Write a stricter rule of my own").click()
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    page.wait_for_url("**/ui/policies/user?*file=own*")
    type_over(page, "State in one sentence the forbidden action and the reason.", "Root stays.")
    page.get_by_text("Accepted: 2 tests pass").wait_for()

    # A draft that is not accepted blocks no other file.
    page.get_by_role("button", name="New file").click()
    page.get_by_label("Name of the new file").fill("dead")
    page.keyboard.press("Enter")
    type_over(page, "decision: ask", "decision: aks")
    page.get_by_text("Stays in the draft until it is accepted").wait_for()
    activate(page)
    with server.client() as http:
        assert list(http.get("/policies/layers/user").json()["files"]) == ["own/no-rm.yaml"]
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").wait_for(state="detached")
    with server.client() as http:
        until(lambda: http.get("/policies/layers/user").status_code == 404)
    page.get_by_text("own/dead.yaml").first.wait_for(state="attached")


def test_a_layer_is_rolled_back_on_a_phone(no_layers, signed_in):
    server, page = no_layers, signed_in
    with server.client() as http:
        where = "/policies/layers/organisation?activate=true"
        first = {"files": {"team/no-deploy.yaml": rule()}, "reason": "the first"}
        version = http.put(where, json=first).json()["version"]
        second = {"files": {"team/no-deploy.yaml": rule(decision="ask")}, "reason": "the second"}
        assert http.put(where, json=second, headers={"If-Match": f'"{version}"'}).status_code == 200
    page.set_viewport_size(PHONE)
    page.goto("/ui/policies")
    page.get_by_role("link", name=re.compile("Organisation")).click()
    page.get_by_text(f"Version {version + 1} is in force").wait_for()
    assert page.get_by_role("tab").count() == 0
    assert page.locator(".cm-content").count() == 0
    page.get_by_role("button", name="Roll back").click()
    page.get_by_text(f"Version {version} is in force").wait_for()
    with server.client() as http:
        assert http.get("/policies/layers/organisation").json()["version"] == version
        page.get_by_role("button", name=f"Activate version {version + 1}").click()
        dialog = page.get_by_role("dialog", name=f"Activate version {version + 1}?")
        dialog.get_by_text("It applies to the organisation").wait_for()
        dialog.get_by_text("These files were not replayed").wait_for()
        dialog.get_by_role("button", name="Activate it").click()
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("button", name="Undo").wait_for(state="detached")
        until(lambda: http.get("/policies/layers/organisation").json()["version"] == version)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_replay_can_be_cancelled(no_layers, signed_in):
    page = signed_in
    page.route("**/policies/replay", lambda route: None)  # it never answers
    page.goto("/ui/policies/organisation?tab=replay")
    page.get_by_role("button", name="Replay the draft").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("alert").get_by_text("Cancelled").wait_for()
    page.get_by_role("button", name="Replay the draft").wait_for()


def test_readers_of_a_layer_see_why_they_cannot_write_it(world, page, no_layers):
    server = no_layers
    with server.client(**{"Baton-User": "dora"}) as dora:
        page.goto(dora.post("/session/links").json()["path"])
    page.get_by_role("button", name="Sign out").wait_for()
    decision, _ = decided(server, "frobnicate staging", **{"Baton-User": "dora"})
    page.goto(f"/ui/policies/organisation?tab=edit&from={decision}")
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    page.get_by_role("button", name="Activate", exact=True).click()
    page.get_by_role("button", name="Activate it").click()
    alert = page.get_by_role("dialog").get_by_role("alert")
    alert.wait_for()
    assert "role `developer` may not change `organisation/-`; allowed tiers: `user`" in alert.inner_text()
    foreign, _ = decided(server, "frobnicate secret-of-root")
    page.goto(f"/ui/decisions?id={foreign}")
    page.get_by_role("dialog").get_by_text("there is no decision").first.wait_for()
    page.goto("/ui/decisions?q=secret-of-root")
    page.get_by_text("No call matches.").wait_for()
    page.troubles.clear()  # the browser counts refusals as errors


def test_an_empty_layer_shows_the_next_step_and_screens_are_accessible(no_layers, signed_in):
    page = signed_in
    page.goto("/ui/policies")
    page.get_by_text("Only the shipped rules.").wait_for()
    page.locator("[data-rule]").first.wait_for()
    assert_accessible(page)
    page.goto("/ui/policies/organisation")
    page.get_by_text("Make a rule from a decision, or write one.").wait_for()
    page.get_by_role("link", name="Write a rule").click()
    page.get_by_role("button", name="New file").click()
    page.get_by_label("Name of the new file").fill("no-deploy")
    page.keyboard.press("Enter")
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    assert_accessible(page)
    page.get_by_role("button", name="Discard the changes").click()
    page.get_by_text("This layer has no file yet.").wait_for()


def test_a_pack_is_tried_run_in_shadow_reported_and_cured_in_the_console(no_layers, signed_in):
    server, page = no_layers, signed_in
    decided(server, "dropdb shop")
    page.goto("/ui/policies")
    card = page.locator("[data-pack='drop-data']")
    card.get_by_role("button", name="Try on last week").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Replay the pack").click()
    dialog.get_by_text("ask by packs/drop-data/sql").first.wait_for()
    dialog.get_by_role("button", name="Close").click()

    card.get_by_role("button", name="Run in shadow").click()
    page.get_by_label("Reason, for the audit log").fill("a first look")
    page.get_by_role("dialog").get_by_role("button", name="Run in shadow").click()
    card.get_by_text("In shadow", exact=True).wait_for()
    for _ in range(3):
        assert decided(server, "dropdb shop")[1] == {}
    page.reload()
    card.get_by_text("noisy").wait_for()
    assert_accessible(page)

    card.get_by_role("button", name="Report").click()
    page.get_by_role("dialog").get_by_text("packs/drop-data/sql").first.wait_for()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Write this exception")).click()
    page.get_by_text(re.compile("Accepted: .* tests pass")).wait_for()
    activate(page)

    page.goto("/ui/policies")
    card.get_by_role("button", name="Enforce").click()
    page.get_by_role("dialog").get_by_role("button", name="Enforce").click()
    card.get_by_text("Enforced", exact=True).wait_for()
    assert decided(server, "dropdb shop")[1] == {}
    assert decided(server, "dropdb other")[1]["hookSpecificOutput"]["permissionDecision"] == "ask"
    page.set_viewport_size(PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
