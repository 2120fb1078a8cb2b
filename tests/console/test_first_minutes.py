"""A newcomer's first five minutes: from a fresh server's link to a delegated agent's change.

Each step is a person's: hooks are installed by the command and run as the client runs them, the rest is the browser.
"""

import json
import re
import subprocess

import pytest

from tests.console.conftest import PHONE, WIDE
from tests.console.runner import running
from tests.console.test_policies import activate, type_over
from tests.support.command_line import clean_environment, run
from tests.support.server import until

pytestmark = pytest.mark.slow("starts a browser and a runner")
ASK = 'ask {"title": "rm -r build", "kind": "execute", "rawInput": {"command": "rm -r build"}}'
TASK = f"say looking\n{ASK}\nwrite cart.py\nsay done"


class ClaudeCode:
    """Claude Code with Baton's hooks in its settings, as far as they see of it: it runs a command for each event."""

    def __init__(self, server, home):
        self.cwd = home / "project"
        self.cwd.mkdir(parents=True)
        self._env = clean_environment(HOME=str(home), BATON_URL=server.url)
        done = run("hooks", "install", env=self._env, cwd=self.cwd)
        assert done.returncode == 0, done.stderr
        self._hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]

    def event(self, name, **fields):
        """Run the hook of an event; return its answer."""
        payload = {"hook_event_name": name, "session_id": "first", "cwd": str(self.cwd), **fields}
        command = self._hooks[name][0]["hooks"][0]["command"]
        done = subprocess.run(
            ["sh", "-c", command],
            check=False,
            env=self._env,
            cwd=self.cwd,
            input=json.dumps(payload).encode(),
            stdout=subprocess.PIPE,
        )
        return json.loads(done.stdout or b"{}").get("hookSpecificOutput", {})

    def bash(self, command):
        """Ask for a shell line; return what the hook says to it."""
        return self.event("PreToolUse", tool_name="Bash", tool_input={"command": command})

    def explore(self):
        """Start a sub-agent as Claude Code does, on the model that the hook says, and report its end."""
        call = {"tool_name": "Task", "tool_use_id": "toolu_explore"}
        asked = {"subagent_type": "Explore", "description": "Find callers", "prompt": "Find every caller of total()"}
        changed = self.event("PreToolUse", **call, tool_input=asked)["updatedInput"]
        usage = {"input_tokens": 8_200, "cache_read_input_tokens": 5_100, "output_tokens": 930}
        ended = {"status": "completed", "agentType": "Explore", "resolvedModel": changed["model"], "usage": usage}
        self.event("PostToolUse", **call, tool_input=changed, tool_response=ended)
        return changed["model"]


def test_a_newcomer_sees_and_steers_it_all_within_minutes(fresh, tmp_path):
    server, page = fresh
    steps = page.get_by_role("region", name="First steps")
    steps.wait_for()
    assert steps.locator("[data-done=true]").all_inner_texts() == ["The server runs"]
    claude = ClaudeCode(server, tmp_path / "home")
    steps.locator("[data-done=true]", has_text="A hook is installed").wait_for()
    steps.get_by_text("Installed, but no call yet: claude-code").wait_for()
    claude.event("SessionStart", source="startup")
    steps.get_by_text("no call yet").wait_for(state="detached")
    a_wrapped_removal_is_refused_live_and_explained(page, claude)
    a_rule_is_written_tested_replayed_and_activated(page, claude)
    steps.wait_for(state="detached")  # every one is done
    a_sub_agent_obeys_and_saves(server, page, claude)
    with running(server, tmp_path / "runner") as shop:
        a_task_is_delegated_answered_on_a_phone_and_applied(page)
        assert (shop / "cart.py").read_text() == "written"


def a_wrapped_removal_is_refused_live_and_explained(page, claude):
    assert claude.bash("sudo sh -c 'rm -rf /'")["permissionDecision"] == "deny"
    refused = page.locator("[data-decision]", has_text="rm -rf /")
    refused.wait_for()
    steps = page.get_by_role("region", name="First steps")
    steps.locator("[data-done=true]", has_text="The first call was refused").wait_for()
    refused.click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_text("guardrails/remove-root").first.wait_for()
    drawer.locator("mark", has_text="rm -rf /").first.wait_for()
    page.keyboard.press("Escape")
    drawer.wait_for(state="hidden")


def a_rule_is_written_tested_replayed_and_activated(page, claude):
    for _ in range(3):
        assert claude.bash("frobnicate prod") == {}
    page.locator("[data-decision]", has_text="frobnicate prod").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Make a rule").click()
    page.get_by_role("button", name="Stop such calls with a rule").click()
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="Replay the draft").click()
    page.get_by_text(re.compile(r"(\d+) of \1 calls, 3 would be decided otherwise")).wait_for()
    page.get_by_role("tab", name="Edit").click()
    type_over(page, "State in one sentence the forbidden action and the reason.", "It stops the shop.")
    page.get_by_text("Accepted: 2 tests pass").wait_for()
    activate(page, "it broke the shop")
    page.get_by_role("link", name="Now").click()
    assert claude.bash("frobnicate prod")["permissionDecision"] == "deny"
    page.locator("[data-decision]", has_text="frobnicate prod").filter(has_text="Refused").wait_for()


def a_sub_agent_obeys_and_saves(server, page, claude):
    assert claude.explore() == "haiku"
    page.locator("[data-decision]", has_text="on haiku").filter(has_text="Rewritten").wait_for()
    with server.client() as http:
        until(lambda: any(day["saved_usd"] for day in http.get("/analytics/cost?by=day").json()["items"]))
    page.get_by_role("link", name="Insight").click()
    page.get_by_text("1 agent call was put on a cheaper model and obeyed").wait_for()


def a_task_is_delegated_answered_on_a_phone_and_applied(page):
    page.get_by_role("link", name="Delegations").click()
    page.get_by_role("link", name="Delegate a task").first.click()
    page.get_by_label("Task", exact=False).first.fill(TASK)
    page.get_by_label("Title").fill("Totals of the cart")
    page.get_by_label("Workspace").select_option("shop")
    page.get_by_role("button", name="Delegate").click()
    page.get_by_role("region", name="The agent asks").wait_for()
    page.set_viewport_size(PHONE)
    page.goto("/ui/waiting")
    question = page.locator("[data-question]", has_text="Totals of the cart")
    question.locator("mark", has_text="rm -r build").wait_for()
    question.get_by_role("button", name="Allow").click()
    page.get_by_text("You allowed it.").wait_for()
    page.set_viewport_size(WIDE)
    page.goto("/ui/delegations")
    page.locator("[data-job]", has_text="Totals of the cart").click()
    page.locator(".diff-code-insert", has_text="written").wait_for()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("status").filter(has_text="applied 1 changed file").wait_for()
