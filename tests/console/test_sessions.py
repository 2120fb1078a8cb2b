"""Sessions and graphs in a browser: live cards, a time line, an agent tree, waves; one's own alone."""

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser")
TASKS = {
    "find": {"description": "Find every caller", "agent_type": "explore", "depends_on": []},
    "read": {"description": "Read up", "agent_type": "dewey", "depends_on": []},
    "build": {"description": "Build the page", "agent_type": "frontend", "depends_on": ["find", "read"]},
}
EVIL = "echo '<img src=x onerror=alert(1)>'"


@pytest.fixture(scope="module")
def lived(world):
    """A session with calls, a sub-agent and a task graph of which a wave was broken."""
    server, _ = world
    session = {"session_id": "lived", "cwd": "/home/dev/shop"}
    spawn = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
    with server.client() as http:
        for call in (
            {"tool_name": "Bash", "tool_input": {"command": EVIL}},
            {"tool_name": "Bash", "tool_input": {"command": "sudo rm -rf /"}},
            {"tool_name": "Agent", "tool_input": spawn},
            {"tool_name": "Read", "tool_input": {"file_path": "a"}, "agent_id": "a1b2", "agent_type": "Explore"},
        ):
            assert http.post("/pre-tool-use", json=session | call).status_code == 200
        body = {"session_id": "lived", "tasks": TASKS, "roster": "stravinsky", "window_ms": 600_000}
        graph = http.post("/graphs", json=body).json()["id"]
        assert http.post(f"/graphs/{graph}/spawn", json={"task": "find"}).status_code == 200
        assert http.post(f"/graphs/{graph}/spawn", json={"task": "build"}).status_code == 409
        until(lambda: http.get("/sessions/lived").json().get("agents") == 1)
        yield graph


def test_a_live_session_shows_its_time_line_and_its_agents(world, lived, signed_in):
    page = signed_in
    page.goto("/ui/sessions?live=true&q=LIV")
    card = page.locator("[data-session=lived]")
    card.get_by_text("Live", exact=True).wait_for()
    assert "1 refused" in card.inner_text()
    assert_accessible(page)
    card.click()
    page.locator("[data-kind=decision]", has_text="sudo rm -rf /").get_by_text("Refused").wait_for()
    assert page.locator("[data-kind=decision]", has_text=EVIL).count() == 1
    assert page.locator("img").count() == 0
    assert_accessible(page)
    page.get_by_label("Show").select_option("spawn")
    page.locator("[data-kind=spawn]", has_text="The main thread starts Explore").wait_for()
    page.locator("[data-kind=decision]").first.wait_for(state="detached")
    page.get_by_role("tab", name="Agents and jobs").click()
    page.wait_for_url("**/ui/sessions/lived?**tab=agents**")
    page.locator("[data-agent=a1b2]", has_text="1 call").wait_for()
    page.get_by_role("list", name="Agents").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="HTML page").click()
    assert "sudo rm -rf /" in download.value.path().read_text()


def test_a_graph_shows_its_waves_and_violations(world, lived, signed_in):
    page = signed_in
    page.goto("/ui/graphs")
    page.locator(f"[data-graph={lived}]").click()
    wave = page.get_by_role("region", name="Wave 1")
    wave.locator("[data-task=find][data-state=running]").wait_for()
    assert page.get_by_role("region", name="Wave 2").locator("[data-task=build]").count() == 1
    page.get_by_text("1 violation of the waves").wait_for()
    assert_accessible(page)
    server, _ = world
    with server.client() as http:
        assert http.post(f"/graphs/{lived}/tasks/find/complete").status_code == 200
    wave.locator("[data-task=find][data-state=completed]").wait_for()  # by itself


def test_empty_pages_show_the_next_step_and_fit_a_phone(world, lived, signed_in):
    page = signed_in
    page.goto("/ui/sessions?q=no-such-session")
    page.get_by_text("No session matches").wait_for()
    page.set_viewport_size(PHONE)
    for path in (
        "/ui/sessions",
        "/ui/sessions/lived",
        "/ui/sessions/lived?tab=agents",
        "/ui/graphs",
        f"/ui/graphs/{lived}",
    ):
        page.goto(path)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(1_000)  # the page holds streams, so the network is never idle
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path


def test_another_developer_sees_neither_session_nor_graph(world, lived, page):
    server, _ = world
    page.goto("/ui/sign-in")
    page.get_by_label("Or with your token").fill(server.token_of("mallory"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto("/ui/sessions")
    page.get_by_text("No session in this time").wait_for()
    page.goto("/ui/graphs")
    page.get_by_text("No task graph yet").wait_for()
    for path in ("/ui/sessions/lived", f"/ui/graphs/{lived}"):
        page.goto(path)
        page.get_by_role("alert").first.wait_for()
        assert "sudo" not in page.locator("body").inner_text()
    page.troubles.clear()  # the browser counts the refusals as errors
