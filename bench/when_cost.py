"""How long the dearest expressions of `when:` take that the budget lets through. Run: python -m bench.when_cost.

The weights in `app/baton/engine/policy/matching/when_cost.py` are chosen by this: no line may come near 20 ms of CPU time.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.load import layered, load
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.when import When
from baton.engine.policy.matching.when_cost import BUDGET

SIZES = [1 << n for n in range(17)] + [24, 48, 24_000, 48_000]
OPERATIONS = " && ".join(["x > 0"] * 40)
AB = "".join(random.Random(3).choices("ab", k=65_536))  # noqa: S311 - the same text each time

CASES: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "pattern that needs many states": ('call.input.a.matches("[ab]*a[ab]{20}c")', lambda n: {"a": AB[:n]}),
    "pattern of many threads": ('call.input.a.matches("(a?){900}c")', lambda n: {"a": "a" * n}),
    "pattern within patterns": ('call.input.a.matches("((a{0,30}){0,30})b")', lambda n: {"a": "a" * n}),
    "pattern in a loop": ('call.input.l.exists(x, x.matches("[ab]*a[ab]{20}c"))', lambda n: {"l": [AB[:n]] * 64}),
    "twenty needles": (
        " || ".join(['call.input.a.contains("' + "a" * 60 + 'c")'] * 20), lambda n: {"a": "a" * n},
    ),
    "needle of the call": (
        "call.input.a.contains(call.input.b)", lambda n: {"a": "a" * n, "b": "a" * (n // 2) + "b"},
    ),
    "loop in a loop": (f"call.input.l.all(y, call.input.l.all(x, {OPERATIONS}))", lambda n: {"l": [1] * n}),
    "list in a list": ("call.input.l.all(x, x in call.input.l)", lambda n: {"l": ["a" * 50] * n}),
    "sixty lengths": (" && ".join(["size(call.input.a) > 0"] * 60), lambda n: {"a": "é" * n}),
    "lists of texts": ("call.input.size() > 70", lambda n: {str(i): ["a" * 50] * 64 for i in range(n)}),
}  # fmt: skip


def main() -> None:
    """Print, for each case, the largest call that is asked about, and what that took at worst of five times."""
    policies = load(layered({"config.yaml": "shell_tools: {}"}))
    print(f"{'expression':<32} {'size':>6} {'ms':>7} {'of the budget':>14}")
    for name, (text, make) in CASES.items():
        when, worst = When(text, "bench", on_error=True), (0, 0.0, 0)
        for size in sorted(SIZES):
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
        print(f"{name:<32} {worst[0]:>6} {worst[1]:>7.2f} {worst[2] / BUDGET:>13.0%}")


if __name__ == "__main__":
    main()
