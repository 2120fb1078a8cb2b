"""Hostile requests against a real server, and how long somebody else's hook waits meanwhile: `python -m bench.hostile`.

The requests are those of tests/attacks/stall.yaml. For each, a client of its own process posts a hook every few
milliseconds; the table shows the answer that the hostile request got, and the median, the 99th percentile and the worst
of the other's waits. Each attack is sent a few times, and the round with the smallest worst wait is shown, since other
work on the machine delays a round by itself. The first row is the server without an attack: what the machine costs.
"""

import argparse
import asyncio
import multiprocessing
import socket
import sys
import time
from multiprocessing.connection import Connection

import msgspec

from bench.server import Started, serving
from tests.attacks.requests import Attack, Outcome, attacks, send

ROUNDS = 3
LATE_MS = 50.0
"""The longest that an attack may keep another caller's hook waiting."""
PAUSE_S = 0.003
"""Between two hooks of the bystander, in seconds."""
QUIET_S = 0.3
"""How long the bystander posts before and after an attack."""
HOOK = msgspec.json.encode(
    {
        "session_id": "bystander",
        "cwd": "/w",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git status"},
    }
)


def bystander(port: int, control: Connection) -> None:
    """Post hooks, one after the other, until told to stop; then send the waits in milliseconds. Repeats."""
    head = b"POST /hooks/claude-code HTTP/1.1\r\nhost: 127.0.0.1\r\nbaton-user: bystander\r\ncontent-length: %d\r\n\r\n"
    request = head % len(HOOK) + HOOK
    while control.recv() == "begin":
        waits = []
        connection = None
        while not control.poll():
            time.sleep(PAUSE_S)
            start = time.perf_counter()
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", port), 30)
                connection.sendall(request)
                if not _answered(connection):
                    connection.close()
                    connection = None
                    continue
            except OSError:
                connection = None
                waits.append(float("inf"))
                continue
            waits.append((time.perf_counter() - start) * 1000)
        control.recv()
        control.send(waits)


def _answered(connection: socket.socket) -> bool:
    """Read one whole answer; False if the server closed the connection instead, as it may between requests."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return False
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return True


def main() -> None:
    """Send every attack (or those whose name holds an argument) and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("named", nargs="*", help="only attacks whose class or name holds one of these")
    named = parser.parse_args().named
    chosen = [one for one in attacks() if not named or any(word in f"{one.kind} {one.name}" for word in named)]
    context = multiprocessing.get_context("spawn")
    with serving(BATON_RATE_PER_MINUTE="0") as server:
        ours, theirs = context.Pipe()
        process = context.Process(target=bystander, args=(server.port, theirs), daemon=True)
        process.start()
        print(f"{'attack':64} {'answer':30} {'p50':>7} {'p99':>7} {'max ms':>7}")
        _row("(none)", "", _best(ours, None, server)[0])
        late = 0
        for attack in chosen:
            waits, outcome = _best(ours, attack, server)
            late += max(waits) > LATE_MS
            wrong = "" if outcome is None or outcome.word in attack.want else f" (wanted: {' or '.join(attack.want)})"
            _row(f"{attack.kind}: {attack.name}", f"{outcome}{wrong}", waits)
        print(f"{len(chosen)} attacks; {late} kept another caller's hook waiting for more than {LATE_MS:.0f} ms")
        ours.send("leave")
        process.join(5)


def _best(control: Connection, attack: Attack | None, server: Started) -> tuple[list[float], Outcome | None]:
    found = _watched(control, attack, server)
    for _ in range(ROUNDS - 1):
        if attack is None or max(found[0]) > LATE_MS / 2:
            found = min(found, _watched(control, attack, server), key=lambda one: max(one[0]))
    return found


def _watched(control: Connection, attack: Attack | None, server: Started) -> tuple[list[float], Outcome | None]:
    control.send("begin")
    time.sleep(QUIET_S)
    outcome = None
    if attack is None:
        time.sleep(1)
    else:
        outcome = asyncio.run(send(attack, server.port, server.token))
    time.sleep(QUIET_S)
    control.send("stop")
    return control.recv(), outcome


def _row(name: str, answer: str, waits: list[float]) -> None:
    ordered = sorted(waits)
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    print(f"{name[:64]:64} {answer[:30]:30} {p50:7.1f} {p99:7.1f} {ordered[-1]:7.1f}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
