import msgspec

from baton.rules.call.outcome import Usage, Watch, input_digest, judge, judged_digest, usage_of
from tests.support.cases import every

GIVEN = {"subagent_type": "Explore", "prompt": "p"}
HAIKU = GIVEN | {"model": "haiku"}
REWRITTEN = Watch(refused=False, original=input_digest(GIVEN), model="haiku")


@every(
    ("ended", "watch", "ran_with", "model", "outcome"),
    [
        ("ran", None, GIVEN, "", "ran"),
        ("failed", None, GIVEN, "", "failed"),
        ("refused", None, GIVEN, "", "refused"),
        ("ran", Watch(refused=True), GIVEN, "", "ran_anyway"),
        ("failed", Watch(refused=True), GIVEN, "", "ran_anyway"),
        ("refused", Watch(refused=True), GIVEN, "", "refused"),
        ("ran", REWRITTEN, HAIKU, "", "ran"),
        ("ran", REWRITTEN, dict(reversed(HAIKU.items())), "claude-haiku-5-5", "ran"),
        ("ran", REWRITTEN, GIVEN, "", "rewrite_ignored"),
        ("ran", REWRITTEN, dict(reversed(GIVEN.items())), "", "rewrite_ignored"),
        ("ran", REWRITTEN, HAIKU, "claude-opus-5-5", "rewrite_ignored"),
        ("failed", REWRITTEN, GIVEN, "", "rewrite_ignored"),
        ("refused", REWRITTEN, GIVEN, "", "refused"),
        ("ran", REWRITTEN, HAIKU | {"normalised": True}, "", "ran"),
        ("ran", Watch(refused=False, original="x", model="claude-haiku-5-5"), HAIKU, "Haiku", "ran"),
    ],
)
def test_the_outcome_is_compared_with_the_decision(ended, watch, ran_with, model, outcome):
    assert judge(ended, watch, "Agent", ran_with, Usage(model=model)) == outcome


LINE = {"command": "ls", "cwd": ""}


@every(
    ("tool", "judged", "ran_with", "outcome"),
    [
        ("Bash", LINE, LINE, "ran"),
        ("Bash", LINE, {"command": "ls -a"}, "changed_by_other"),
        ("Bash", LINE, LINE | {"cwd": "/"}, "changed_by_other"),
        ("Bash", LINE, LINE | {"dangerouslyDisableSandbox": True}, "changed_by_other"),
        ("Agent", GIVEN, GIVEN | {"prompt": "q"}, "changed_by_other"),
        # A client's own changes: defaults, descriptions, models by other names, inputs that it does not repeat.
        ("Bash", LINE, {"command": "ls", "timeout": 30_000, "run_in_background": False}, "ran"),
        ("Bash", LINE | {"description": "List"}, LINE, "ran"),
        ("Agent", HAIKU, HAIKU | {"model": "claude-haiku-4.5"}, "ran"),
        ("Bash", LINE, {}, "ran"),
        ("AskUserQuestion", {"questions": []}, {"questions": [], "answers": {"a": "b"}}, "ran"),
    ],
)
def test_an_input_that_something_else_changed_is_noticed(tool, judged, ran_with, outcome):
    watch = Watch(refused=False, judged=judged_digest(tool, judged))
    assert judge("ran", watch, tool, ran_with, Usage()) == outcome


@every("odd", [{"a": "\ud800"}, {"a": 10**400}, {"a": float("nan")}, {"a": object()}, {}])
def test_any_input_has_a_digest(odd):
    assert input_digest(odd) == input_digest(dict(odd))
    assert input_digest(odd) != input_digest({"other": 1})


@every(
    ("response", "usage"),
    [
        (None, Usage()),
        ("text", Usage()),
        ({"usage": None, "resolvedModel": 3}, Usage()),
        ({"usage": {"input_tokens": -1, "output_tokens": True}}, Usage()),
        (
            {
                "resolvedModel": "claude-haiku-5-5",
                "usage": {
                    "input_tokens": 10,
                    "cache_creation_input_tokens": 5,
                    "cache_read_input_tokens": 7,
                    "output_tokens": 3,
                },
            },
            Usage("claude-haiku-5-5", 15, 7, 3),
        ),
    ],
)
def test_a_response_s_model_and_tokens(response, usage):
    assert usage_of(response) == usage
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(usage), type=Usage) == usage
