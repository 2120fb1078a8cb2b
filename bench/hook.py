"""Measures what a hook costs before it asks: `baton hook` and the POSIX shim, next to a process and to sh with curl.

Every round runs each command once, so that a busy moment hits all of them; compare the ratios, not the figures. The server
answers at once. `python -m bench.hook` runs for about a quarter of a minute and ends by itself.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time

from tests.hooks.shim import HOOKS, PYTHON, Scripted

ROUNDS = 60
MOST = 2.0
"""What `baton hook` may take, as a multiple of the POSIX shim, which is sh and curl."""
EVENT = ("claude-code", "PreToolUse")


def milliseconds(command: list[str], env: dict[str, str]) -> float:
    """Run a command with an event as its input, and return how long it took, in ms."""
    began = time.perf_counter()
    subprocess.run(command, env=env, input=b'{"hook_event_name": "PreToolUse"}', capture_output=True, check=True)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Print a line for each command: the least and the median in ms, and the median of its ratios to sh with curl."""
    server = Scripted()
    shim = ["sh", str(HOOKS / "baton-hook.sh"), *EVENT]
    bare = ["sh", "-c", f"exec curl -q -s --data-binary @- {server.url}/hooks/claude-code?event=PreToolUse"]
    commands = {
        "floor: a process": [str(shutil.which("true"))],
        "sh + curl, bare": bare,
        "baton-hook.sh (sh + curl)": shim,
        "baton hook": [*PYTHON, *EVENT],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "BATON_URL": server.url, "BATON_USER": "bench"}
        for number in range(ROUNDS + 2):
            for name, command in commands.items():
                took = milliseconds(command, env)
                if number > 1:  # the first fill the caches
                    times[name].append(took)
    server.close()
    usual = times["baton-hook.sh (sh + curl)"]
    for name, runs in times.items():
        ratio = statistics.median(one / other for one, other in zip(runs, usual, strict=True))
        print(
            f"{name:28} least {min(runs):6.1f} ms, median {statistics.median(runs):6.1f} ms, x {ratio:.2f} of sh + curl"
        )
    least = min(times["baton hook"]) / min(usual)
    print(f"baton hook takes x {least:.2f} of sh + curl at the least; at most x {MOST:.1f} is wanted")


if __name__ == "__main__":
    main()
