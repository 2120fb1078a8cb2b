"""Against mvdan/sh: every command found by its parser is in our list, or the line is refused."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from baton.lib.bash.read import read
from baton.lib.bash.tables import tables
from tests.lib.bash.lines import Lines
from tests.lines.corpus import rows

SHFMT = shutil.which("shfmt", path=str(Path(sys.executable).parent)) or "shfmt"
TABLES = tables.build({"t": "time: {is: read-only, runs: [{command: 0, assignments: true}]}"})
DECLARATIONS = frozenset({"export", "declare", "local", "readonly", "typeset"})


def parsed(text):
    done = subprocess.run([SHFMT, "--to-json", "-ln", "bash"], input=text.encode(), capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def literal(parts):
    """The text of a word, None where an expansion is in it."""
    text = ""
    for part in parts:
        kind, value = part["Type"], part.get("Value", "")
        if kind == "Lit":
            text += re.sub(r"\\(.)", lambda found: found[1].strip("\n"), value, flags=re.DOTALL)
        elif kind == "SglQuoted" and not part.get("Dollar"):
            text += value
        elif kind == "DblQuoted" and all(inner["Type"] == "Lit" for inner in part.get("Parts", [])):
            inner = "".join(inner.get("Value", "") for inner in part.get("Parts", []))
            text += re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), inner)
        else:
            return None
    return text


def calls(root):
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, dict):
            if node.get("Type") == "CallExpr" and node.get("Args"):
                found.append([literal(word.get("Parts", [])) for word in node["Args"]])
            elif node.get("Type") == "DeclClause":
                found.append([node["Variant"]["Value"]])
            todo += node.values()
    return sorted(found, key=lambda call: call.count(None))


def same(call, argv):
    if call[0] in DECLARATIONS:
        return argv[0] == call[0]
    return len(call) == len(argv) and all(word in (None, text) for word, text in zip(call, argv, strict=True))


def compare(text):
    root = parsed(text)
    if root is None:
        return "invalid", None
    shell = read(TABLES, text)
    if shell.unparsed:
        return "refused", None
    left = [
        program.argv for program in shell.programs if program.name != "time" and not (program.guess or program.meant)
    ]
    for call in calls(root):
        match = next((argv for argv in left if same(call, argv)), None)
        if match is None:
            return "lost", (text, call)
        left.remove(match)
    return ("invented", (text, left)) if left else ("agreed", None)


SLOW = pytest.mark.slow("starts shfmt for each of hundreds of lines")


@pytest.mark.parametrize(("seed", "many"), [(0, 80), *(pytest.param(seed, 700, marks=SLOW) for seed in (0, 1, 2, 3))])
def test_no_command_of_a_generated_line_is_lost_or_invented(seed, many):
    texts = [Lines(seed * 1_000_000 + index).line() for index in range(many)]
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(compare, texts))
    assert [told for verdict, told in results if verdict in {"lost", "invented"}] == []
    counts = Counter(verdict for verdict, _ in results)
    assert counts["agreed"] > many * 0.65


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=SLOW)])
def test_lines_that_people_write_are_not_refused(step):
    texts = [row.line for row in rows() if row.known.programs][::step]
    assert [text for text in texts if compare(text)[0] == "refused"] == []
