"""Modes, people, audit and health in a real browser: views, changes and permissions."""

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE, pick, settled
from tests.support.http_calls import introduce, ok
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser")
SCREENS = {
    "/ui/modes": "Modes",
    "/ui/modes?tab=exceptions": "Modes",
    "/ui/modes?tab=unlocks": "Modes",
    "/ui/people": "People",
    "/ui/people?tab=teams": "People",
    "/ui/people?tab=tokens": "People",
    "/ui/people?tab=browsers": "People",
    "/ui/people?tab=roles": "People",
    "/ui/audit": "Audit",
    "/ui/health": "Health",
}


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_every_screen_is_accessible_and_fits(signed_in, phone):
    if phone:
        signed_in.set_viewport_size(PHONE)
    for path, heading in SCREENS.items():
        signed_in.goto(path)
        signed_in.get_by_role("heading", level=1, name=heading).wait_for()
        settled(signed_in)
        assert_accessible(signed_in)
        assert signed_in.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), path


def test_a_mode_is_set_at_a_scope_and_removed_with_a_reason(world, signed_in):
    server, _ = world
    introduce(server, projects=["github.com/acme/modes"])
    signed_in.goto("/ui/modes")
    signed_in.get_by_role("button", name="Set a mode").click()
    dialog = signed_in.get_by_role("dialog", name="Set a mode")
    dialog.get_by_label("Scope").select_option("project")
    pick(dialog, "Project", "github.com/acme/modes")
    dialog.get_by_label("Mode").select_option("guidance")
    dialog.get_by_label("Why").fill("a soft launch")
    assert_accessible(signed_in)
    dialog.get_by_role("button", name="Set", exact=True).click()
    dialog.wait_for(state="hidden")
    row = signed_in.get_by_role("table", name="Settings", exact=True).get_by_role("row", name="github.com/acme/modes")
    row.wait_for()
    assert "a soft launch" in row.inner_text()
    pick(signed_in.get_by_role("search"), "Project", "github.com/acme/modes")
    signed_in.get_by_role("table", name="Chain of settings").get_by_text("github.com/acme/modes").wait_for()
    assert "project=github.com" in signed_in.url
    row.get_by_role("button", name="Remove").click()
    signed_in.get_by_role("dialog").get_by_label("Why").fill("launched")
    signed_in.get_by_role("dialog").get_by_role("button", name="Remove").click()
    row.wait_for(state="detached")
    with server.client() as admin:
        assert ok(admin.get("/audit", params={"kind": "mode", "limit": 1}))["items"][0]["reason"] == "launched"


def test_an_exception_is_granted_from_its_request_and_ended(world, signed_in):
    server, _ = world
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
    with server.client() as admin:
        ok(admin.put("/mode", json={"scope": "session", "id": "freed", "enabled": True, "level": "strict"}))
        decision = ok(admin.post("/pre-tool-use", json=edit | {"session_id": "freed"}))["decision_id"]
        until(lambda: admin.get(f"/decisions/{decision}").status_code == 200)
        ok(admin.post("/exceptions", json={"decision_id": decision, "reason": "a hotfix"}), 201)
    signed_in.goto("/ui/modes?tab=exceptions")
    table = signed_in.get_by_role("table", name="Exceptions")
    table.get_by_text("a hotfix").wait_for()
    table.get_by_role("button", name="Grant").click()
    dialog = signed_in.get_by_role("dialog", name="Grant an exception")
    assert dialog.get_by_label("The stopped call").inner_text() == "Edit a.py"
    dialog.get_by_label("For").select_option("session")
    dialog.get_by_label("Why").fill("a test")
    dialog.get_by_role("button", name="Grant", exact=True).click()
    dialog.wait_for(state="hidden")
    table.get_by_text("granted: session").wait_for()
    with server.client() as admin:
        assert ok(admin.post("/pre-tool-use", json=edit | {"session_id": "freed"}))["decision"] == "allow"
    table.get_by_role("button", name="End").click()
    signed_in.get_by_role("dialog").get_by_role("button", name="End it").click()
    signed_in.get_by_text("No exception exists").wait_for()


def test_a_new_token_is_shown_once_works_and_is_revoked(world, signed_in):
    server, _ = world
    signed_in.goto("/ui/people?tab=tokens")
    signed_in.get_by_role("button", name="Make a token").click()
    form = signed_in.get_by_role("dialog", name="Make a token")
    form.get_by_role("combobox", name="User").or_(form.get_by_role("textbox", name="User")).first.fill("tamara")
    form.get_by_label("Role").select_option("lead")
    form.get_by_role("button", name="Make", exact=True).click()
    shown = signed_in.get_by_role("dialog", name="The new token")
    text = shown.locator("[data-token]").inner_text()
    assert_accessible(signed_in)
    with server.agent(Authorization=f"Bearer {text}") as tamara:
        assert ok(tamara.get("/me"))["role"] == "lead"
        shown.get_by_role("button", name="Done").click()
        shown.wait_for(state="hidden")
        assert text not in signed_in.content()
        row = signed_in.get_by_role("table", name="Tokens").get_by_role("row", name="tamara")
        row.get_by_role("button", name="Revoke").click()
        signed_in.get_by_role("dialog").get_by_label("Why").fill("she left")
        signed_in.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        row.get_by_text("revoked").wait_for()
    with server.client() as admin:
        assert all(one["revoked_at"] for one in ok(admin.get("/tokens?user=tamara"))["items"])
    signed_in.goto("/ui/people")
    signed_in.get_by_role("table", name="Users").get_by_text("tamara").wait_for()


def test_the_audit_log_shows_a_change_s_values(world, signed_in):
    server, _ = world
    with server.client() as admin:
        ok(admin.put("/users/audited", json={"reason": "joined"}))
        ok(admin.put("/users/audited", json={"disabled": True, "reason": "on leave"}))
    signed_in.goto("/ui/audit?kind=user&object=audited")
    changes = signed_in.locator("details.change")
    changes.nth(1).wait_for()
    assert changes.count() == 2
    assert "on leave" in changes.first.inner_text()
    signed_in.keyboard.press("j")
    signed_in.keyboard.press("Enter")
    changes.first.locator(".added").first.wait_for()
    assert "disabled_at" in changes.first.inner_text()
    assert_accessible(signed_in)
    signed_in.get_by_role("button", name="Clear filters").click()
    signed_in.wait_for_url("**/ui/audit")


def test_health_shows_processes_and_settings_without_secrets(world, signed_in):
    server, _ = world
    signed_in.goto("/ui/health")
    signed_in.get_by_role("region", name="Dependencies").get_by_text("Redis up").wait_for()
    workers = signed_in.get_by_role("table", name="Servers and workers")
    workers.get_by_text(str(server.process.pid)).first.wait_for()
    settings = signed_in.get_by_role("table", name="Settings in force")
    settings.get_by_text("BATON_HOME", exact=True).wait_for()
    signed_in.get_by_label("Name").fill("workers")
    settings.get_by_text("BATON_WORKERS", exact=True).wait_for()
    signed_in.wait_for_url("**/ui/health?setting=workers")


def test_silent_hooks_are_shown_on_health_and_insight(world, signed_in):
    server, _ = world
    with server.client() as admin:
        assert admin.put("/clients/gemini/hooks").status_code == 200
    signed_in.goto("/ui/health")
    row = signed_in.get_by_role("table", name="Hooks by client").get_by_role("row", name="gemini")
    row.get_by_text("never heard of; run `baton doctor` there").wait_for()
    signed_in.goto("/ui/insight")
    signed_in.get_by_role("region", name="Last call by client").get_by_role("row", name="gemini").get_by_text(
        "installed, no call yet"
    ).wait_for()


def test_a_developer_sees_neither_others_nor_the_servers(world, page):
    server, _ = world
    server.token_of("stranger")
    page.goto("/ui/sign-in")
    page.get_by_label("Or with your token").fill(server.token_of("dora"))
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto("/ui/people")
    page.get_by_role("table", name="Users").get_by_text("dora").wait_for()
    assert page.get_by_text("stranger").count() == 0
    page.goto("/ui/health")
    page.get_by_text("shown to admins and auditors").wait_for()
    page.goto("/ui/audit")
    page.get_by_role("alert").wait_for()
    assert "may not" in page.get_by_role("alert").inner_text()
    page.troubles.clear()  # the refusal
