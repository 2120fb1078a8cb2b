"""Where removals, writes and moves go: places that guardrails claim, and harmless neighbours."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from tests.support.examples import examples
from tests.support.shipped import shipped

LINES = yaml.load((Path(__file__).parent / "places.yaml").read_text(), yaml.CSafeLoader)


def verdict(one):
    tool, given_input = ("Bash", {"command": one["line"]}) if "line" in one else (one["tool"], one["input"])
    folder = one.get("cwd", "/repo")
    call = ToolCall(
        client="judge", session_id="s", tool_name=tool, tool_input=given_input, cwd=folder, project_root=folder
    )
    found = evaluate(shipped(), Facts(call=call))
    return "allow" if found.effect == "abstain" else found.effect, found.rule


@pytest.mark.parametrize("kind", sorted({one["class"] for one in LINES}))
def test_each_line_has_the_verdict_that_is_wanted(kind):
    wrong = {}
    for one in LINES:
        effect, rule = verdict(one)
        if one["class"] == kind and (effect not in one["want"] or (one["rule"] and rule != one["rule"])):
            wrong[one.get("line") or str(one["input"])] = (effect, rule)
    assert wrong == {}


def test_a_third_of_the_lines_are_harmless():
    assert sum("allow" in one["want"] for one in LINES) * 3 >= len(LINES)


SPELLINGS = st.sampled_from(
    ["{}", "'{}'", '"{}"', "{}/", "{}/.", "//{}", "/.{}", "/tmp/..{}", "/proc/self/root{}", "{{{0},/x}}"]
)
WRAPPERS = st.sampled_from(
    ["{}", "sudo {}", "bash -c '{}'", "cd / && {}", "true; {}", "({})", "env A=1 {}", "echo x | {}"]
)
REMOVALS = st.sampled_from(
    ["rm -rf {}", "rm -r -f -- {}", "find {} -delete", "mv {} /tmp/x", "rsync -a --delete /tmp/e/ {}", "chmod -R 0 {}"]
)
PLACES = st.sampled_from(["/usr", "/etc", "/opt", "/boot", "/home/ann", "/Users/ann", "/var", "/lib64"])


@given(PLACES, SPELLINGS, REMOVALS, WRAPPERS)
@examples(200)
def test_no_spelling_of_a_guarded_place_escapes(place, spelling, removal, wrapper):
    spelt = spelling.format(place)
    if "'" in spelt and "'" in wrapper:
        return
    line = wrapper.format(removal.format(spelt))
    assert verdict({"line": line})[0] == "deny", line
