"""Routing and agents in a browser: a prompt tried and judged, rosters, patterns decided, breakers held, two teams."""

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE, WIDE
from tests.support.http_calls import ok
from tests.support.server import serving

pytestmark = pytest.mark.slow("starts a browser")
SCRIPT = "Mends tests.\n\n**First** run them.\n\n<script>alert(1)</script><img src=x onerror=alert(2)>"
AGENTS = [
    {"name": "test-fixer", "description": "Use when tests fail: runs pytest and mends failing tests.", "body": SCRIPT},
    {"name": "sql-writer", "description": "Use to write SQL queries for the warehouse."},
]


@pytest.fixture(scope="module")
def shop(world):
    """A pushed roster."""
    server, _ = world
    with server.client() as admin:
        ok(admin.put("/rosters/shop", json={"agents": AGENTS}))
    return "shop"


def test_a_prompt_is_tried_explained_and_judged(shop, signed_in):
    signed_in.goto(f"/ui/routing?roster={shop}")
    signed_in.get_by_role("textbox", name="Prompt").fill("use the test-fixer agent: the checkout tests fail")
    signed_in.get_by_role("button", name="Try it").click()
    found = signed_in.get_by_role("region", name="Chosen route")
    found.get_by_role("heading", name="→ test-fixer").wait_for()
    assert "the prompt names `test-fixer`" in found.inner_text()
    assert "Use the `test-fixer` agent" in found.inner_text()
    assert_accessible(signed_in)
    found.get_by_label("The right agent").select_option("sql-writer")
    found.get_by_role("button", name="Say so").click()
    found.get_by_text("Noted: sql-writer was right.").wait_for()
    signed_in.get_by_role("tab", name="Accuracy").click()
    signed_in.wait_for_url("**/ui/routing?tab=accuracy")
    signed_in.get_by_text("0 of 1 judged routes were right; 1 led to a wrong agent").wait_for()
    signed_in.get_by_role("region", name="Accuracy", exact=True).locator("canvas").wait_for()
    assert_accessible(signed_in)
    signed_in.get_by_label("Time").select_option("custom")
    signed_in.get_by_label("Until").fill("2026-01-01T00:00")
    signed_in.get_by_text("No prompt was routed in this time.").wait_for()
    signed_in.goto("/ui/graphs?since=7d")
    assert signed_in.get_by_label("Time").input_value() == "7d"
    signed_in.get_by_text("No task graph matches.").wait_for()


def test_an_agents_definition_is_sanitised_and_its_model_has_a_tier(shop, signed_in):
    signed_in.goto("/ui/routing?tab=rosters")
    signed_in.get_by_role("link", name=shop).click()
    signed_in.get_by_role("link", name="test-fixer").click()
    drawer = signed_in.get_by_role("dialog")
    drawer.locator("strong", has_text="First").wait_for()
    assert drawer.locator("img, script").count() == 0
    signed_in.goto("/ui/rosters/claude-code")
    row = signed_in.get_by_role("row", name="Explore")
    row.wait_for()
    assert row.locator("[data-tier=cheap]").inner_text() == "haiku · cheap"
    assert_accessible(signed_in)


def test_a_pattern_is_approved_with_a_reason_and_merged_into_another(world, signed_in):
    server, _ = world
    with server.client() as admin:
        for signature in ("Give HTTP calls a timeout", "Let no HTTP call hang"):
            ok(admin.post("/patterns", json={"signature": signature, "confidence": 0.9}), 201)
        signed_in.goto("/ui/routing?tab=patterns")
        card = signed_in.get_by_role("region", name="Give HTTP calls a timeout")
        card.get_by_role("button", name="Approve").click()
        dialog = signed_in.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("agreed")
        dialog.get_by_role("button", name="Approve").click()
        card.wait_for(state="detached")
        signed_in.get_by_role("region", name="Let no HTTP call hang").get_by_role("button", name="Merge").click()
        dialog.get_by_label("Into").select_option(label="Give HTTP calls a timeout")
        dialog.get_by_role("button", name="Merge").click()
        signed_in.get_by_text("Nothing waits for approval.").wait_for()
        kept = {one["signature"]: one["status"] for one in ok(admin.get("/patterns"))["items"]}
    assert kept == {"Give HTTP calls a timeout": "validated", "Let no HTTP call hang": "retired"}
    signed_in.get_by_text("Approved", exact=True).click()
    signed_in.get_by_role("region", name="Give HTTP calls a timeout").wait_for()
    assert_accessible(signed_in)


def test_empty_routing_tabs_show_a_hint_and_fit_a_phone(world, signed_in):
    signed_in.set_viewport_size(PHONE)
    for tab, text in (
        ("breakers", "Routing uses no model and no node here"),
        ("accuracy", "Answers to agents"),
        ("rosters", "claude-code"),
        ("try", "It is recorded and counted like any prompt"),
    ):
        signed_in.goto(f"/ui/routing?tab={tab}")
        signed_in.get_by_text(text).first.wait_for()
        assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], tab


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that asks for tokens, with a model to break and a pattern of one team; and tokens by name."""
    own = {"BATON_MODEL_URL": "http://127.0.0.1:9/v1", "BATON_MODEL_NAME": "small", "USE_LLM_ROUTING": "true"}
    home = tmp_path_factory.mktemp("routing") / "home"
    with serving(home, BATON_AUTH="on", ENABLE_LOCAL_INFERENCE_PIPELINE="true", **own) as server:
        admin_token = (home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {admin_token}") as admin:
            tokens = {"admin": admin_token}
            for name, team in (("ann", "web"), ("bob", "data")):
                ok(admin.put(f"/teams/{team}", json={}))
                given = {"user": name, "role": "developer", "team": team}
                tokens[name] = ok(admin.post("/tokens", json=given), 201)["text"]
        with server.client(Authorization=f"Bearer {tokens['ann']}") as ann:
            ok(ann.post("/patterns", json={"signature": "Only web's own advice"}), 201)
        yield server, tokens


def page_of(browser, server, token):
    context = browser.new_context(viewport=WIDE, base_url=f"http://baton.localhost:{server.url.rpartition(':')[2]}")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto("/ui/sign-in")
    page.get_by_label("Or with your token").fill(token)
    page.get_by_role("button", name="Sign in", exact=True).last.click()
    page.get_by_role("button", name="Sign out").wait_for()
    return page


def test_an_admin_holds_a_breaker_and_resets_it(world, guarded):
    server, tokens = guarded
    page = page_of(world[1], server, tokens["admin"])
    page.goto("/ui/routing?tab=breakers")
    card = page.get_by_role("region", name="Breaker model")
    for button, shown in (("Hold open", "held open by a person"), ("Reset", "Asked")):
        card.get_by_role("button", name=button).click()
        page.get_by_role("dialog").get_by_label("Reason").fill("maintenance")
        page.get_by_role("dialog").get_by_role("button", name=button).click()
        card.get_by_text(shown).wait_for()
    assert_accessible(page)
    page.context.close()


def test_a_developer_decides_nothing_and_sees_no_other_team(world, guarded):
    server, tokens = guarded
    for name, text in (("ann", "Only web's own advice"), ("bob", "Nothing waits for approval.")):
        page = page_of(world[1], server, tokens[name])
        page.goto("/ui/routing?tab=patterns")
        page.get_by_text(text).wait_for()
        assert page.get_by_role("button", name="Approve").count() == 0
        assert ("Only web's own advice" in page.get_by_role("main").inner_text()) == (name == "ann")
        page.goto("/ui/routing?tab=breakers")
        page.get_by_role("region", name="Breaker model").wait_for()
        assert page.get_by_role("button", name="Hold open").count() == 0
        page.context.close()
