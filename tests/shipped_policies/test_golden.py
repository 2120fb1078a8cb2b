"""Golden verdicts: each names the deciding rule, in strict, in guidance, with the mode off and for a sub-agent."""

import json
import re
from pathlib import Path

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from tests.support.cases import listed

_LINE = re.compile(
    r"(?:\[(?P<history>[^]]*)\] )?(?P<call>.*?)  ->  (?P<strict>[^|]*) \| (?P<guidance>[^|]*) \| (?P<always>.*)"
)
_TEXT = (Path(__file__).parent / "golden.txt").read_text(encoding="utf-8")
ROWS = [line for line in _TEXT.splitlines() if line and not line.startswith("#")]


def test_every_verdict_is_the_golden_one(shipped):
    wrong = {}
    for line in ROWS:
        row = _LINE.fullmatch(line)
        said = verdicts(shipped, row)
        if said != [row["strict"], row["guidance"], row["always"], row["always"]]:
            wrong[line] = said
    assert not wrong, listed(wrong)


def verdicts(shipped, row):
    """Return the verdict and the rule in strict, in guidance, with the mode off and of a sub-agent."""
    call = row["call"]
    if call.startswith("$ "):
        tool, tool_input = "Bash", {"command": call[2:].replace("\\n", "\n")}
    else:
        tool, _, text = call.partition(" ")
        tool_input = json.loads(text)
    history = tuple(row["history"].split(",")) if row["history"] else ()
    said = []
    for level, agent_id in (("strict", ""), ("guidance", ""), ("off", ""), ("strict", "agent-1")):
        verdict = evaluate(
            shipped,
            Facts(
                call=ToolCall(
                    client="golden",
                    session_id="s",
                    tool_name=tool,
                    tool_input=tool_input,
                    agent_id=agent_id,
                    cwd="/repo",
                    project_root="/repo",
                ),
                level=level,
                history=history,
            ),
        )
        said.append(f"{verdict.effect} {verdict.rule}".strip())
    return said


def test_the_table_is_large_enough_and_repeats_nothing():
    assert len(ROWS) * 4 >= 600
    assert len(ROWS) == len(set(ROWS))
