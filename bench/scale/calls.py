"""Measures a call's cost by number of sessions and rules, and the cost of a team's layer.

Run `python -m bench.scale.calls`. Servers are measured in alternating rounds, so other load affects all; the rows are
medians, and ratios to the first row of their kind. The CPU time is the server's and Valkey's.
"""

import json
import os
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from baton.rules.policy.load import Layer, extend, load
from baton.shared import policy_folders
from bench.engine import MORE_RULES, rules
from bench.pre_tool_use import bodies, measure, one
from bench.server import Started, serving_in

ROUNDS = 5
SESSIONS = 200_000
KNOWN = 5_003
"""More sessions than any cache of a server holds; a prime number, so each session gets all kinds of calls in turn."""
TEAMS = 200


def of_sessions(many: int) -> Iterator[bytes]:
    """Return payloads of the mixed calls, each in another one of so many sessions."""
    for number, body in enumerate(bodies(fresh=False)):
        call = json.loads(body)
        call |= {"session_id": f"session-{number % many}", "tool_use_id": f"toolu_{many}_{number}"}
        yield json.dumps(call).encode()


def serve(stack: ExitStack, files: Mapping[str, str]) -> Started:
    """Start a server with these rules and the shipped ones."""
    home = Path(stack.enter_context(TemporaryDirectory(prefix="baton-scale-")))
    for path, text in files.items():
        place = home / "policies" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    started = stack.enter_context(serving_in(home, BATON_RATE_PER_MINUTE="1000000000"))
    started.put("/mode", b'{"scope":"organisation","enabled":true,"level":"strict"}')
    return started


def measure_sessions() -> None:
    """Print the CPU time of a call in one session, in known sessions, and in new ones: one call at a time."""
    with ExitStack() as stack:
        server = serve(stack, {})
        # With the mode on, decisions depend on the session's past, and a refusal costs more than an answer.
        server.put("/mode", b'{"scope":"organisation","enabled":false}')
        streams = {
            "one session": of_sessions(1),
            f"{KNOWN:,} sessions that had calls": of_sessions(KNOWN),
            f"a new session each, of {SESSIONS:,}": of_sessions(SESSIONS),
        }
        known = streams[f"{KNOWN:,} sessions that had calls"]
        visited = 0
        while visited < KNOWN:
            visited += measure(server.port, server.parts, known, one).requests
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in streams}
        for round_number in range(ROUNDS + 1):
            for name, stream in streams.items():
                took = measure(server.port, server.parts, stream, one)
                if round_number:  # the first one warms up
                    found[name].append((took.cpu_us, took.valkey_us))
        print(f"{'a call of':42}{'server µs':>12}{'Valkey µs':>12}{'ratio':>8}")
        base = 0.0
        for name, times in found.items():
            cpu, valkey = (statistics.median(column) for column in zip(*times, strict=True))
            base = base or cpu + valkey
            print(f"{name:42}{cpu:12.0f}{valkey:12.0f}{(cpu + valkey) / base:8.2f}")


def measure_rules() -> None:
    """Print the CPU time of a call with a new command by the number of rules."""
    with ExitStack() as stack:
        few, many = serve(stack, {}), serve(stack, rules(MORE_RULES))
        new = bodies(fresh=True)
        rows: dict[str, list[float]] = {}
        for round_number in range(ROUNDS + 1):
            for name, server in (("the shipped rules", few), (f"{MORE_RULES:,} rules more", many)):
                took = measure(server.port, server.parts, new)
                if round_number:
                    rows.setdefault(name, []).append(took.cpu_us + took.valkey_us)
        print(f"{'a new command with':42}{'µs of CPU':>12}{'ratio':>8}")
        base = statistics.median(rows["the shipped rules"])
        for name, times in rows.items():
            print(f"{name:42}{statistics.median(times):12.0f}{statistics.median(times) / base:8.2f}")


def measure_layers() -> None:
    """Print the cost of many teams' layers for a server: time to build and memory, of a layer with one rule each."""
    base = load([Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))])
    texts = rules(TEAMS)
    layers = [
        Layer(tier="team", name=f"team-{number}", files={path: text})
        for number, (path, text) in enumerate(texts.items())
    ]
    extend(base, [layers[0]])
    before, memory = time.process_time(), psutil.Process().memory_info().rss
    sets = [extend(base, [layer]) for layer in layers]
    took, grown = time.process_time() - before, psutil.Process().memory_info().rss - memory
    print(f"{f'layers of {len(sets)} teams: to build one, ms of CPU':58}{took / len(sets) * 1000:8.1f}")
    print(f"{f'layers of {len(sets)} teams: memory of one, KB':58}{grown / len(sets) / 1024:8.0f}")


def main() -> None:
    """Measure calls by sessions and by rules, then layers."""
    print(f"load when it began: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    measure_sessions()
    measure_rules()
    measure_layers()


if __name__ == "__main__":
    main()
