"""Rebuilt recorded calls: known parts are restored, and unknown ones reported."""

from datetime import UTC, datetime

from baton.rules.call.call import Principal
from baton.rules.call.record import Record
from baton.rules.call.verdict import Facts
from baton.rules.policy.load import layered, load
from baton.rules.policy.replay import Replayer, principal_of
from tests.support.cases import every
from tests.support.shipped import shipped

POLICIES = load(layered({"config.yaml": "shell_tools: {Bash: command}\nagent_tools: [Task]\n"}))


def record(**fields):
    given = {
        "organisation": "acme",
        "team": "web",
        "user": "ann",
        "role": "lead",
        "client": "codex",
        "event": "PreToolUse",
    }
    return Record(id="1", at=datetime(2026, 5, 1, tzinfo=UTC), **(given | fields))


def test_replayed_facts_have_the_principal_and_mode():
    facts = Replayer().facts(POLICIES, record(tool="Read", mode_enabled=True, mode_level="strict"))
    assert isinstance(facts, Facts)
    assert facts.principal == Principal(organisation="acme", team="web", user="ann", role="lead")
    assert facts.level == "strict"


def test_a_record_from_before_roles_were_kept_is_a_developers():
    assert principal_of(record(role="")).role == "developer"


@every(
    ("fields", "why"),
    [
        ({"tool": "Task"}, "the prompt of an agent is not recorded"),
        ({"tool": "Bash"}, "the command was not recorded"),
        ({"tool": "Read", "overridden": True}, "a person had switched Baton off or lifted a rule"),
        ({"tool": "Read", "degraded": ("history",)}, "the session's history could not be read"),
    ],
)
def test_a_call_that_cannot_be_rebuilt_has_a_reason(fields, why):
    assert Replayer().facts(POLICIES, record(**fields)) == why


def test_a_call_degraded_by_other_rules_is_replayed():
    assert isinstance(Replayer().facts(POLICIES, record(tool="Read", degraded=("policies", "when:a/b"))), Facts)


def test_the_calls_before_in_a_session_are_its_history():
    replayer = Replayer()
    for tool in ("Read", "Grep"):
        replayer.facts(POLICIES, record(tool=tool, session_id="s"))
    replayer.facts(POLICIES, record(tool="Edit", session_id="s", effect="deny"))
    facts = replayer.facts(POLICIES, record(tool="Read", session_id="s"))
    assert facts.history == ("Read", "Grep")  # the refused Edit did not run


def test_a_look_up_by_shell_is_one_in_the_history_again():
    replayer = Replayer()
    for command in ("cat a.py", "ls"):
        replayer.facts(shipped(), record(tool="Bash", command=command, session_id="s"))
    facts = replayer.facts(shipped(), record(tool="Read", session_id="s"))
    assert facts.history == ("Bash (look-up)", "Bash")
