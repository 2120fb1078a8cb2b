"""Waiting for you in a real browser: the card, the answers by key and by thumb, and a faster person."""

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser")
POLL = {"boot_id": "b", "slots": 9, "wait_s": 0, "providers": ["codex"], "workspaces": []}


@pytest.fixture(autouse=True)
def nothing_waits(world):
    """Answer what other tests have left."""
    server, _ = world
    with server.client() as http:
        for one in http.get("/approvals").json()["items"]:
            http.post(f"/approvals/{one['id']}", json={"answer": "deny"}).raise_for_status()


def question(server, title, command):
    """Let a delegated agent of the admin ask for permission; return its job's and the question's id."""
    with server.client() as http:
        http.post("/runners/waiting/poll", json=POLL).raise_for_status()
        task = {"user_prompt": "tidy up", "description": title, "session_id": title}
        job = http.post("/delegate", json=task).json()["job"]["id"]

        def leased():
            jobs = http.post("/runners/waiting/poll", json=POLL).json()["jobs"]
            return next((one for one in jobs if one["job"] == job), None)

        lease = until(leased)
        request = {"tool_name": "Bash", "tool_input": {"command": command}}
        proof = {"attempt": lease["attempt"], "token": lease["token"]}
        asked = http.post(f"/runners/waiting/jobs/{job}/permissions", json=proof | {"request": request}).json()
        assert asked["answer"] == "pending"
        return job, asked["permission"]


def state(server, job):
    with server.client() as http:
        (found,) = http.get("/approvals", params={"job": job}).json()["items"]
        return found["state"], found["answer_reason"]


def answer(server, job, asked):
    with server.client() as http:
        http.post(f"/approvals/{asked}", json={"answer": "deny"}).raise_for_status()


def card(page, title):
    return page.locator("[data-question]", has_text=title)


def test_questions_come_by_themselves_and_are_answered_by_keys(world, signed_in):
    server, _ = world
    signed_in.goto("/ui/waiting")
    signed_in.get_by_text("Nothing waits for you.").wait_for()
    first, _ = question(server, "Clean the build", "cd build && rm -rf 'old stuff'")
    second, _ = question(server, "Fetch a page", "curl -s http://example.invalid")
    one = card(signed_in, "Clean the build")
    one.wait_for()
    assert one.locator("mark").all_inner_texts() == ["rm -rf 'old stuff"]
    card(signed_in, "Fetch a page").wait_for()
    assert signed_in.title() == "(2) Baton"
    assert one.locator("kbd").all_inner_texts() == ["d", "a"]
    assert_accessible(signed_in)
    signed_in.keyboard.press("?")
    keys = signed_in.get_by_role("dialog", name="Keys").get_by_role("table", name="Keys: Waiting for you")
    keys.wait_for()
    assert [keys.get_by_text(text).count() for text in ("Allow the focused", "Deny it with")] == [1, 1]
    signed_in.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    one.focus()
    signed_in.keyboard.press("d")
    signed_in.get_by_label("Message to the agent").press_sequentially("use make clean")  # its letters are no keys
    signed_in.keyboard.press("Enter")
    signed_in.get_by_text("You denied it.").wait_for()
    assert state(server, first) == ("denied", "use make clean")
    card(signed_in, "Fetch a page").focus()
    signed_in.keyboard.press("a")
    signed_in.get_by_text("You allowed it.").wait_for()
    assert state(server, second) == ("approved", "")
    signed_in.get_by_text("Nothing waits for you.").wait_for()


def test_a_session_s_call_is_approved_and_passes_once(world, signed_in):
    server, _ = world
    event = {
        "session_id": "asks",
        "tool_name": "Bash",
        "tool_input": {"command": "docker run -v /:/h alpine touch /h/x"},
    }

    def called():
        with server.client() as http:
            return http.post("/hooks/codex?event=PreToolUse", json=event | {"hook_event_name": "PreToolUse"}).text

    signed_in.goto("/ui/waiting")
    signed_in.get_by_text("Nothing waits for you.").wait_for()
    assert "baton approve apr_" in called()
    one = card(signed_in, "asks to use Bash")
    one.get_by_text("docker run").first.wait_for()
    assert_accessible(signed_in)
    one.focus()
    signed_in.keyboard.press("a")
    signed_in.get_by_text("the same call passes once").wait_for()
    assert called() == "{}"
    assert "baton approve apr_" in called()


PRESS_AT_ONCE = """shown => new MutationObserver((_, watch) => {
    const first = document.querySelector("[data-question]")?.dataset.question;
    if (first === shown) return;
    watch.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
    document.body.dataset.pressed = first;
}).observe(document.body, { childList: true, subtree: true })"""


def test_a_key_for_a_closed_question_answers_no_other(world, signed_in):
    server, _ = world
    one, asked = question(server, "Came first", "rm -rf one")
    other, next_one = question(server, "Came second", "rm -rf other")
    signed_in.goto("/ui/waiting")
    card(signed_in, "Came second").wait_for()
    signed_in.evaluate(PRESS_AT_ONCE, asked)
    answer(server, one, asked)
    signed_in.locator(f"body[data-pressed={next_one}]").wait_for()
    signed_in.wait_for_timeout(1_000)
    assert state(server, other)[0] == "waiting"
    signed_in.keyboard.press("a")
    until(lambda: state(server, other)[0] == "approved")


def test_the_second_answer_is_reported_and_a_phone_shows_one_card(world, signed_in):
    server, _ = world
    signed_in.set_viewport_size(PHONE)
    job, asked = question(server, "Install a package", "npm install left-pad " + "and-more " * 40)
    signed_in.goto(f"/ui/waiting/{asked}")
    buttons = [card(signed_in, "Install a package").get_by_role("button", name=name) for name in ("Deny", "Allow")]
    for button in buttons:
        button.wait_for()
        assert button.bounding_box()["height"] >= 48
    assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    # The page does not hear of the other answer, so that its own comes second.
    signed_in.route("**/approvals", lambda route: route.abort())
    signed_in.route(f"**/approvals/{asked}", lambda route: (answer(server, job, asked), route.continue_()))
    buttons[1].click()
    signed_in.get_by_text("root answered first: denied.").wait_for()
    signed_in.goto("about:blank")  # whatever it still asks for is aborted, too, and told as an error
    signed_in.troubles.clear()  # so is the conflict


def test_another_person_sees_none_of_it(world, page):
    server, _ = world
    question(server, "Not for dora", "rm -rf mine")
    with server.client(**{"Baton-User": "dora-w"}) as http:
        page.goto(http.post("/session/links").json()["path"])
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto("/ui/waiting")
    page.get_by_text("Nothing waits for you.").wait_for()
    assert page.title() == "Baton"
