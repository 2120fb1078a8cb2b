"""Delegations in a browser, over a real runner: delegate, follow, answer, look at the difference, apply, reply, cancel."""

import json

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE
from tests.console.runner import running
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser and a runner")
ASK = 'ask {"title": "rm -r build", "kind": "execute", "rawInput": {"command": "rm -r build"}}'
EVIL = """Look: <script>window.hacked = 1</script> <img src=x onerror="window.hacked = 2">

<iframe src="javascript:window.parent.hacked = 3"></iframe>

[here](javascript:window.hacked=4) ![pixel](https://example.invalid/p.png) [web](https://example.org/) [page](/ui/sign-in)

<style>body { display: none }</style><a href="#" onclick="window.hacked = 5">click</a>"""


@pytest.fixture(scope="module")
def shop(world, tmp_path_factory):
    server, _ = world
    with running(server, tmp_path_factory.mktemp("runner")) as shop:
        yield shop


def delegate(server, prompt, **more):
    body = {"user_prompt": prompt, "provider": "codex", "workspace": "shop", "isolation": "worktree"} | more
    with server.client() as http:
        answer = http.post("/delegate", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["job"]["id"]


def ended(server, job):
    with server.client() as http:
        until(lambda: http.get(f"/jobs/{job}").json()["state"] in {"completed", "failed", "cancelled"})
        return http.get(f"/jobs/{job}").json()


def test_a_task_is_delegated_followed_answered_applied_and_replied_to(world, shop, signed_in):
    page = signed_in
    page.get_by_role("link", name="Delegations").click()
    page.get_by_role("heading", name="Delegations").wait_for()
    page.get_by_role("link", name="Delegate a task").first.click()
    page.get_by_label("Task", exact=False).first.fill(f"say looking\n{ASK}\nwrite cart.py\nsay done")
    page.get_by_label("Title").fill("Totals of the cart")
    page.get_by_label("Agent").select_option("codex")
    page.get_by_label("Workspace").select_option("shop")
    page.get_by_role("button", name="Delegate").click()
    page.get_by_role("heading", name="Totals of the cart").wait_for()
    # The orchestrator's words in a plain bubble, the agent's in a card with its name.
    page.locator("[data-source=orchestrator]", has_text="✓ Delegated to codex. Task: say looking").wait_for()
    card = page.locator("[data-source=agent]", has_text="looking")
    card.wait_for()
    assert card.locator("header").inner_text().strip() == "Codex"
    question = page.get_by_role("region", name="The agent asks")
    question.get_by_text("rm -r build").first.wait_for()
    question.get_by_role("button", name="Allow").click()
    question.get_by_text("Allowed").wait_for()
    page.locator("[data-source=agent]", has_text="done").wait_for()
    page.locator(".diff-code-insert", has_text="written").wait_for()
    assert_accessible(page)
    page.get_by_role("button", name="Comment on line 1").first.click()
    page.get_by_label("Comment on line 1; it is sent with your reply").fill("why so short?")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("status").filter(has_text="applied 1 changed file").wait_for()
    assert (shop / "cart.py").read_text() == "written"
    page.get_by_label("Reply to Codex").fill("say again")
    page.get_by_role("button", name="Send").click()
    page.locator("[data-source=orchestrator]", has_text="cart.py:1: why so short?").wait_for()
    page.locator("[data-source=agent]", has_text="again").wait_for()


def test_a_large_difference_is_folded_and_read_in_pages_from_the_runner(world, shop, signed_in):
    server, _ = world
    job = delegate(server, "lines 12000 large.txt\nwrite small.txt")
    ended(server, job)
    signed_in.goto(f"/ui/delegations/{job}?beside=none")
    large = signed_in.locator(".diff-file", has_text="large.txt")
    large.get_by_text("+12000").wait_for()
    assert signed_in.locator(".diff-code-insert").count() == 0
    signed_in.locator(".diff-file summary", has_text="small.txt").click()
    signed_in.locator(".diff-code-insert", has_text="written").wait_for()
    large.locator("summary").click()
    large.get_by_text("line 0", exact=True).wait_for()
    assert large.get_by_text("line 11999", exact=True).count() == 0
    large.get_by_role("button", name="Show more of this file").click()
    large.get_by_text("line 11999", exact=True).wait_for()


def test_cancelling_a_running_job_needs_a_confirmation(world, shop, signed_in):
    server, _ = world
    job = delegate(server, "say working\nsleep 300", description="A long one")
    signed_in.goto(f"/ui/delegations/{job}")
    signed_in.locator("[data-source=agent]", has_text="working").wait_for()
    signed_in.get_by_role("button", name="Cancel").click()
    dialog = signed_in.get_by_role("dialog")
    dialog.get_by_role("button", name="No").click()
    dialog.wait_for(state="hidden")
    signed_in.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Cancel the job").click()
    signed_in.locator("[data-state=cancelled]").first.wait_for()
    assert ended(server, job)["state"] == "cancelled"
    signed_in.get_by_role("button", name="Retry").click()
    signed_in.locator("[data-state=running]").first.wait_for()
    with server.client() as http:
        http.post(f"/jobs/{job}/cancel")


def test_nothing_that_an_agent_writes_can_run_or_break_the_page(world, shop, signed_in):
    server, _ = world
    evil, nested, long = (
        delegate(server, prompt)
        for prompt in (
            f"words {json.dumps(EVIL)}",
            f"words {json.dumps('> ' * 5_000 + 'the-innermost')}",
            f"words {json.dumps(EVIL)}\nbig 300000\nsay cut-off",
        )
    )
    for job, found in ((nested, "the-innermost"), (long, "Look:"), (evil, "Look:")):
        end = ended(server, job)
        assert end["state"] == "completed", end["error"]
        signed_in.goto(f"/ui/delegations/{job}?beside=none")
        signed_in.locator("[data-state=completed]").first.wait_for()
        # What the runner says of the workspace, where it says something, is a card of its own in front of the agent's.
        card = signed_in.locator("[data-source=agent]", has_text=found).first
        card.get_by_text(found).first.wait_for()
        assert card.locator("script, img, iframe, style, [onclick], [href^='javascript:'], [href^='/']").count() == 0
        assert signed_in.evaluate("() => window.hacked === undefined")
        if job == long:
            signed_in.get_by_text("more characters, which the page leaves out").wait_for()
    card.get_by_role("link").wait_for()
    assert card.get_by_role("link").all_inner_texts() == ["web"]
    assert "<script>window.hacked = 1</script>" in card.inner_text()


def test_parallel_jobs_are_columns_or_tabs_on_a_phone(world, shop, signed_in):
    server, _ = world
    first = delegate(server, "say first-words\nsleep 300", description="First", session_id="both")
    second = delegate(
        server, "say second-words\nsleep 300", description="Second", session_id="both", provider="claude_code"
    )
    after = delegate(server, "say three", description="Third", session_id="both", depends_on=[second])
    signed_in.goto(f"/ui/delegations/{first}")
    signed_in.locator(f"[data-job={first}] [data-source=agent]", has_text="first-words").wait_for()
    signed_in.locator(f"[data-job={second}] [data-source=agent]", has_text="second-words").wait_for()
    assert signed_in.locator(f"[data-job={after}] [data-state=blocked]").count() == 1
    signed_in.set_viewport_size(PHONE)
    signed_in.get_by_role("tab", name="Second").click()
    signed_in.locator(f"[data-job={second}] [data-source=agent]", has_text="second-words").wait_for()
    assert signed_in.locator(f"[data-job={first}]").count() == 0
    assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    with server.client() as http:
        for job in (first, second):
            http.post(f"/jobs/{job}/cancel")


def test_the_list_shows_why_a_job_waits_and_approves_it(world, shop, signed_in):
    server, _ = world
    job = delegate(server, "say x", description="Needs a yes", approval="ask")
    signed_in.goto("/ui/delegations?state=pending_approval")
    row = signed_in.locator(f"[data-job={job}]")
    row.get_by_text("Waits for approval").wait_for()
    assert_accessible(signed_in)
    row.click()
    signed_in.get_by_role("button", name="Approve").click()
    signed_in.locator("[data-state=completed]").first.wait_for()
    signed_in.goto("/ui/delegations?state=failed&provider=gemini")
    signed_in.get_by_text("No delegation matches").wait_for()
    signed_in.set_viewport_size(PHONE)
    for path in ("/ui/delegations", "/ui/delegations/new", f"/ui/delegations/{job}"):
        signed_in.goto(path)
        signed_in.get_by_role("heading", level=1).wait_for()
        signed_in.wait_for_timeout(1_000)  # the page holds streams, so the network is never idle
        assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path


def test_another_developer_sees_nothing_of_it(world, shop, page):
    server, _ = world
    job = delegate(server, "say confidential-words", description="Confidential")
    ended(server, job)
    page.goto("/ui/sign-in")
    page.get_by_label("Or with your token").fill(server.token_of("mallory"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto("/ui/delegations")
    page.get_by_text("Nothing was delegated yet").wait_for()
    page.goto(f"/ui/delegations/{job}")
    page.get_by_role("alert").wait_for()
    assert "onfidential" not in page.locator("body").inner_text()
    page.troubles.clear()  # the browser counts the refusals as errors
