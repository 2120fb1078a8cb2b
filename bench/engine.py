"""Measures the engine alone, line by line: `python -m bench.engine [--against FOLDER]`.

The lines are those of tests/lines. They exceed the engine's caches and rotate, so each is always new. A line's time is
the CPU time of its fastest round; the floor in the next column splits the line with `shlex` and tries some patterns on
it. With `--against`, another checkout of Baton (`git worktree add FOLDER COMMIT`) is measured in the same rounds, with
its own tables and rules.

A last table has the most expensive expressions of `when:`; none may come near 20 ms.

Compare the ratios, not the figures: machines differ.
"""

import argparse
import json
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baton.lib.bash.read import read
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import Layer, load
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.when import BUDGET, When
from baton.shared import policy_folders
from tests.lines.corpus import lines

ROOT = Path(__file__).parents[1]
ROUNDS = 5
MORE_RULES = 1_000
LENGTHS = (20, 40, 80, 160, 100_000)
"""The longest line of each group, in characters."""
_KNOWN = 500
"""Lines that are repeated, so the caches have them."""
_HOOK = [re.compile(p) for p in (r"^npm (run|test)", r"^pytest", r"^git push.*(--force|-f)\b", r"\brm\s+-rf?\b")]
_FLAGS = ("--force", "--all", "--yes", "-rf", "--hard")
_PROGRAMS = (
    ("git", "push"), ("docker", "run"), ("kubectl", "delete"), ("npm", "install"), ("terraform", "apply"), ("cargo", "build"),
)  # fmt: skip
_CATEGORIES = (
    ("destructive", "rm"), ("network", "ping"), ("file-write", "touch"), ("vcs-write", "git add"), ("package-install", "pip install"),
)  # fmt: skip
"""Categories, each with a command in it."""


WHEN_SIZES = [1 << n for n in range(17)] + [24, 48, 24_000, 48_000]
_OPERATIONS = " && ".join(["x > 0"] * 40)
_AB = "".join(random.Random(3).choices("ab", k=65_536))  # noqa: S311 - the same text each time

WHEN: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "pattern that needs many states": ('call.input.a.matches("[ab]*a[ab]{20}c")', lambda n: {"a": _AB[:n]}),
    "pattern of many threads": ('call.input.a.matches("(a?){900}c")', lambda n: {"a": "a" * n}),
    "pattern within patterns": ('call.input.a.matches("((a{0,30}){0,30})b")', lambda n: {"a": "a" * n}),
    "pattern in a loop": ('call.input.l.exists(x, x.matches("[ab]*a[ab]{20}c"))', lambda n: {"l": [_AB[:n]] * 64}),
    "twenty needles": (
        " || ".join(['call.input.a.contains("' + "a" * 60 + 'c")'] * 20), lambda n: {"a": "a" * n},
    ),
    "needle of the call": (
        "call.input.a.contains(call.input.b)", lambda n: {"a": "a" * n, "b": "a" * (n // 2) + "b"},
    ),
    "loop in a loop": (f"call.input.l.all(y, call.input.l.all(x, {_OPERATIONS}))", lambda n: {"l": [1] * n}),
    "list in a list": ("call.input.l.all(x, x in call.input.l)", lambda n: {"l": ["a" * 50] * n}),
    "sixty lengths": (" && ".join(["size(call.input.a) > 0"] * 60), lambda n: {"a": "é" * n}),
    "lists of texts": ("call.input.size() > 70", lambda n: {str(i): ["a" * 50] * 64 for i in range(n)}),
}  # fmt: skip
"""Expressions of `when:`, and the input of a call of some size: the most expensive ones for the weights of
`when_cost.py`.
"""


def rules(number: int) -> dict[str, str]:
    """Return the files of so many rules, of the kinds written by teams: each matches few lines."""
    return {f"team/rule{n}.yaml": json.dumps(_rule(n)) for n in range(number)}


def _rule(number: int) -> dict[str, object]:
    program, subcommand = _PROGRAMS[number // 10 % len(_PROGRAMS)]
    flag = _FLAGS[number // 10 % len(_FLAGS)]
    category, removal = _CATEGORIES[number // 10 % len(_CATEGORIES)]
    edit = {"tool": "Edit", "input": {"file_path": f"src/generated{number}/a.py"}}
    asks: list[tuple[dict[str, object], object]] = [
        ({"shell": {"program": f"tool{number}"}}, f"tool{number}"),
        (
            {"shell": {"program": program, "subcommand": subcommand, "operands": f"*x{number}"}},
            f"{program} {subcommand} x{number}",
        ),
        ({"shell": {"program": program, "flags": [f"--option{number}"]}}, f"{program} --option{number}"),
        (
            {"shell": {"program": program, "operands": f"prod-{number}*", "flags": [flag]}},
            f"{program} prod-{number}-x {flag}",
        ),
        ({"shell": {"category": category, "operands": f"secret-{number}"}}, f"{removal} secret-{number}"),
        (
            {"shell": {"feeds": {"from": {"program": "curl"}, "into": {"program": "bash"}}, "operands": f"x{number}"}},
            f"curl x{number} | bash",
        ),
        ({"shell": {"exports": [f"NAME{number}=*"]}}, f"export NAME{number}=1"),
        (
            {"shell": {"program": program, "args": [f"{program} {subcommand} x{number}"]}},
            f"{program} {subcommand} x{number}",
        ),
        ({"shell": {"writes_to": ["work"], "operands": f"x{number}"}}, f"cp x{number} y"),
        ({"tools": ["Edit", "Write"], "paths": [f"src/generated{number}/**"]}, edit),
    ]
    match, call = asks[number % len(asks)]
    return {
        "id": f"team/rule{number}", "description": "A rule of a team.", "match": match, "decision": "ask", "reason": "x",
        "tests": {"match": [call], "not_match": ["ls"]},
    }  # fmt: skip


def _floor(line: str) -> bool:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return any(pattern.search(line) for pattern in _HOOK) or not words


def _cases() -> dict[str, Callable[[str], object]]:
    shipped = Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))
    policies = load([shipped])
    many = load([shipped, Layer(tier="organisation", files=rules(MORE_RULES))])
    known = load([shipped])

    def judged(line: str, level: str, own: object) -> object:
        call = ToolCall(
            client="claude-code", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/w",
            project_root="/w",
        )  # fmt: skip
        return evaluate(own, Facts(call=call, level=level))  # type: ignore[arg-type]

    return {
        "floor": _floor,
        "reading alone": lambda line: read(policies.tables, line),
        "new line, mode off": lambda line: judged(line, "off", policies),
        "new line, strict": lambda line: judged(line, "strict", policies),
        f"the same, {MORE_RULES:,} rules more": lambda line: judged(line, "strict", many),
        "known line": lambda line: judged(line, "strict", known),
    }


def _asked(every: list[str]) -> list[int]:
    """Return the number of rules asked about each line."""
    policies = load([Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))])
    counts = []
    for line in every:
        call = ToolCall(client="claude-code", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/w")
        reading = policies.reading(call, None)
        candidates = policies.candidates("Bash", "strict", subagent=False)
        counts.append(len(list(candidates.reached(reading.shell))))
    return sorted(counts)


def serve() -> None:
    """Measure the case of each line of standard input; print the nanoseconds of each line. Ends with its input."""
    every, cases = lines(), _cases()
    print(json.dumps(list(cases)), flush=True)
    for name in map(str.strip, sys.stdin):
        run, clock = cases[name], time.thread_time_ns
        these = every[:_KNOWN] if name == "known line" else every
        for line in these[:_KNOWN] if name == "known line" else ():
            run(line)
        took = []
        for line in these:
            start = clock()
            run(line)
            took.append(clock() - start)
        print(json.dumps(took), flush=True)


class _Worker:
    """A process that measures one checkout."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(folder / "app"), str(ROOT)))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.engine", "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder, text=True,
        )  # fmt: skip
        self.cases: list[str] = self._answer()
        self.best: dict[str, list[int]] = {}

    def measure(self, case: str) -> None:
        assert self.process.stdin is not None
        print(case, file=self.process.stdin, flush=True)
        took = self._answer()
        self.best[case] = [min(pair) for pair in zip(took, self.best.get(case, took), strict=True)]

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def _at(ordered: list[int], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] / 1_000


def _show(every: list[str], here: _Worker, other: _Worker | None) -> None:
    head = f"{'CPU µs':34}{'mean':>8}{'p50':>8}{'p99':>8}{'worst':>9}{'× floor':>9}"
    print(head + (f"{'other':>9}{'÷ other':>9}" if other else ""))
    floor = statistics.mean(here.best["floor"])
    for case, took in here.best.items():
        ordered, mean = sorted(took), statistics.mean(took)
        row = f"{case:34}{mean / 1_000:>8.1f}{_at(ordered, 0.5):>8.1f}{_at(ordered, 0.99):>8.1f}{ordered[-1] / 1_000:>9.0f}{mean / floor:>9.2f}"
        if other:
            before = statistics.mean(other.best[case])
            row += f"{before / 1_000:>9.1f}{mean / before:>9.3f}"
        print(row)
    print()
    case = "new line, strict"
    for least, most in zip((0, *LENGTHS), LENGTHS, strict=False):
        places = [at for at, line in enumerate(every) if least < len(line) <= most]
        ordered = sorted(here.best[case][at] for at in places)
        row = f"{case}, {least + 1}–{most} characters ({len(places)})"
        print(
            f"{row:58}p50 {_at(ordered, 0.5):>6.1f}  p99 {_at(ordered, 0.99):>7.1f}  worst {ordered[-1] / 1_000:>7.1f}"
        )


def _show_expressions() -> None:
    """Print the worst of five times of each expression, in the largest call within the budget."""
    policies = load([Layer(tier="shipped", files={"config.yaml": "shell_tools: {}"})])
    print(f"\n{'expression of `when:`':34}{'size':>8}{'ms':>8}{'of the budget':>15}")
    for name, (text, make) in WHEN.items():
        when, worst = When(text, "bench", on_error=True), (0, 0.0, 0)
        for size in sorted(WHEN_SIZES):
            call = ToolCall(client="bench", session_id="s", tool_name="Edit", tool_input=make(size))
            took = 0.0
            for _ in range(5):
                context = Context(policies, Facts(call=call, level="off"))
                started = time.thread_time()
                when.holds(context)
                took = max(took, time.thread_time() - started)
            if not context.spent:
                break
            worst = (size, took * 1_000, context.spent)
        print(f"{name:34}{worst[0]:>8}{worst[1]:>8.2f}{worst[2] / BUDGET:>15.0%}")


def main() -> None:
    """Measure in turns, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout to measure in the same rounds")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    workers = [_Worker(ROOT), *([_Worker(given.against)] if given.against else [])]
    for _ in range(given.rounds):
        for case in workers[0].cases:
            for worker in workers:
                worker.measure(case)
    every = lines()
    _show(every, workers[0], workers[1] if given.against else None)
    asked = _asked(every)
    print(
        f"\nrules asked of a line, strict: mean {statistics.mean(asked):.1f}, p50 {asked[len(asked) // 2]}, p99 {asked[int(len(asked) * 0.99)]}, worst {asked[-1]}"
    )
    for worker in workers:
        worker.end()
    _show_expressions()


if __name__ == "__main__":
    main()
