"""Records of events other than calls, and a call's command and model."""

from baton.clients.event import HookEvent
from baton.records.pipeline.recorder import RouteOutcome, event_record
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.modes import Mode
from baton.rules.call.verdict import Verdict
from baton.shared.caller import Caller
from baton.shared.decided import DecidedCall, Decision, ModeInForce, decision_record
from tests.support.cases import every

ANN = Caller(principal=Principal(user="ann", team="web"))
PROMPT = HookEvent(client="codex", name="UserPromptSubmit", native_name="UserPromptSubmit", session_id="s", prompt="hi")


def test_a_prompt_that_was_not_routed_took_no_time_and_went_nowhere():
    made = event_record(ANN, PROMPT, "acme/shop", Mode(), "r1")
    assert (made.elapsed_us, made.routed_to, made.routed_by, made.confidence, made.degraded) == (0, "", "", 0.0, ())
    assert (made.user, made.team, made.project, made.prompt, made.revision) == ("ann", "web", "acme/shop", "hi", "r1")


def test_a_routed_prompt_says_where_it_went_and_what_that_took():
    route = RouteOutcome(
        id="7", agent="coder", tier="scorer", told="shortlist", confidence=0.5, elapsed_us=12, degraded=("model",)
    )
    made = event_record(ANN, PROMPT, "", Mode(enabled=True, level="strict", scope="user"), "r1", route)
    assert (made.id, made.routed_to, made.routed_by, made.routed_as) == ("7", "coder", "scorer", "shortlist")
    assert made.confidence == 0.5
    assert (made.elapsed_us, made.degraded) == (12, ("model",))
    assert (made.mode_enabled, made.mode_level, made.mode_scope) == (True, "strict", "user")


def test_a_start_that_is_recorded_keeps_no_prompt():
    start = HookEvent(client="codex", name="SessionStart", native_name="SessionStart", prompt="hi")
    assert event_record(ANN, start, "", Mode(), "r1").prompt == ""


def recorded(tool, given, updated=None):
    verdict = Verdict(effect="rewrite" if updated else "abstain", updated_input=updated)
    mode = ModeInForce(enabled=False, level="guidance", scope="default")
    call = ToolCall(client="codex", session_id="s", tool_name=tool, tool_input=given)
    decision = Decision(id="1", verdict=verdict, mode=mode, revision="r")
    return decision_record(DecidedCall(caller=ANN, call=call, decision=decision))


@every(
    ("tool", "command", "kept"),
    [
        ("Bash", "ls -l", "ls -l"),
        ("shell", ["ls", "-l"], "ls -l"),
        ("apply_patch", "*** Begin Patch", ""),
        ("Bash", None, ""),
        ("Bash", "cat > f <<E\nsecret\nE\n", None),
    ],
)
def test_of_a_command_all_is_kept_but_the_contents_of_files(tool, command, kept):
    made = recorded(tool, {"command": command}).command
    assert "secret" not in made
    assert kept is None or made == kept


@every(
    ("given", "updated", "model"),
    [
        ({}, {"model": "haiku"}, "haiku"),
        ({"model": "haiku"}, {"model": "haiku"}, ""),
        ({}, None, ""),
        ({}, {"model": 1}, ""),
    ],
)
def test_a_model_counts_as_put_in_only_where_it_was_another_before(given, updated, model):
    assert recorded("Task", given, updated).model_injected == model
