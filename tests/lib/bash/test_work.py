"""Reading and judging a line takes a bounded number of steps, growing at most linearly.

Steps are function calls, Python's and C's, instead of seconds: those depend on other load of the machine.
"""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.bash.read import read
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts, Level
from baton.rules.policy.evaluate import evaluate
from tests.attacks.requests import text
from tests.support.attacks import entries
from tests.support.examples import examples
from tests.support.samples import one_in
from tests.support.shipped import unread
from tests.support.steps import steps

MOST_STEPS = 400_000
"""Calls for a line of any length: some 35 ms on a usual machine."""
LINES = {one["name"]: one for one in entries("stall") if "line" in one}
REPEATED = {name: one["line"]["repeat"] for name, one in LINES.items() if "repeat" in one["line"]}


@cache
def policies():
    return unread()


def judge(line: str, level: Level = "strict") -> tuple[int, Any]:
    call = ToolCall(client="claude-code", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/w")
    rules = policies()
    return steps(lambda: evaluate(rules, Facts(call=call, level=level)))


@pytest.mark.matrix(3)
@pytest.mark.parametrize("name", one_in(4, LINES, "reads a long line"))
def test_a_line_is_judged_within_a_bounded_number_of_steps(name):
    one = LINES[name]
    count, verdict = judge(text(one["line"]))
    assert count < MOST_STEPS, count
    if verdict.shell.unparsed:
        assert verdict.effect in {"ask", "deny"}
    assert one["want"] == "bounded" or verdict.effect == "ask"


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    "name", one_in(4, (name for name, one in LINES.items() if one["class"] == "stall/arguments"), "reads a long line")
)
def test_many_arguments_are_judged_within_them_where_no_rule_of_the_mode_ends_it(name):
    count, _ = judge(text(LINES[name]["line"]), "off")
    assert count < MOST_STEPS, count


@pytest.mark.matrix(3)
@pytest.mark.parametrize("program", ["rm -rf", "sudo rm -rf", "xargs rm -rf", "tool rm -rf", "tool x rm -rf"])
@pytest.mark.parametrize("last", ["/", "~", "/usr"])
def test_a_program_behind_many_arguments_is_found(program, last):
    for argument in (" qz{}", " qz{}/$x"):
        line = program + "".join(argument.format(number) for number in range(3_000)) + " " + last
        _, verdict = judge(line, "off")
        assert verdict.effect in {"ask", "deny"}


@pytest.mark.slow("counts the steps of each twice")
@pytest.mark.parametrize("unit", REPEATED.values(), ids=REPEATED)
def test_twice_the_line_takes_at_most_twice_the_steps(unit):
    tables = policies().tables
    few = max(2, 1_500 // len(unit.encode()))
    once, _ = steps(lambda: read(tables, unit * few))
    twice, shell = steps(lambda: read(tables, unit * few * 2))
    assert twice < 2.3 * once + 2_000 or shell.unparsed
    assert twice < MOST_STEPS


@examples(60)
@given(
    units=st.lists(st.sampled_from(sorted(REPEATED.values())), min_size=1, max_size=4),
    tail=st.sampled_from(["", "x", "|", '"', "'", "`", "$(", "${", "<<", "}", ")", "fi", " )x"]),
    size=st.sampled_from([1_000, 8_000, 30_000]),
)
def test_shapes_within_shapes_are_bounded_too(units, tail, size):
    unit = "".join(units)
    line = unit * (size // len(unit.encode())) + tail
    tables = policies().tables
    count, _ = steps(lambda: read(tables, line))
    assert count < MOST_STEPS
