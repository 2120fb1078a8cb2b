"""Measures what `baton` costs in CPU: fast commands next to `python -c pass`, importing typer, and a hello in typer.

Compare the differences and ratios, not the figures: machines differ. Every round runs each command once, so that a busy
moment hits all of them. `python -m bench.cli` runs for about half a minute and ends by itself.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.server import serving

ROUNDS = 15
BUDGET_MS = 150
"""CPU time that a fast command may take on top of an empty Python."""
HELLO = """
import typer
app = typer.Typer()
@app.command()
def hello(name: str = "world"): print("hello", name)
@app.command()
def bye(name: str = "world"): print("bye", name)
app()
"""
PAYLOAD = b'{"tool_name": "Bash", "tool_input": {"command": "ls"}}'


def cpu_ms(command: list[str], env: dict[str, str]) -> float:
    """Run a command and return the CPU time, user and system, that it took, in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, input=PAYLOAD, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print a line for each command: the least and the median, what is above an empty Python, and the ratio to it."""
    python, baton = [sys.executable], [sys.executable, "-m", "baton"]
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        hello = Path(folder) / "hello.py"
        hello.write_text(HELLO)
        commands = {
            "python -c pass": [*python, "-c", "pass"],
            "import typer": [*python, "-c", "import typer"],
            "typer hello: --help": [*python, str(hello), "--help"],
            "typer hello: hello": [*python, str(hello), "hello"],
            "baton --help": [*baton, "--help"],
            "baton --version": [*baton, "--version"],
            "baton status": [*baton, "status"],
            "baton mode status": [*baton, "mode", "status"],
            "baton explain": [*baton, "explain"],
        }
        env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        env |= {"HOME": folder, "BATON_URL": server.url}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS + 1):
            for name, command in commands.items():
                times[name].append(cpu_ms(command, env))
    least = {name: min(found[1:]) for name, found in times.items()}  # the first round fills the caches
    floor = least["python -c pass"]
    print(f"CPU time in ms, {ROUNDS} rounds; a fast command may take {BUDGET_MS} ms more than `python -c pass`\n")
    print(f"{'command':<22}{'least':>8}{'median':>8}{'above':>8}{'ratio':>8}")
    for name, found in times.items():
        print(
            f"{name:<22}{least[name]:>8.0f}{statistics.median(found[1:]):>8.0f}"
            f"{least[name] - floor:>8.0f}{least[name] / floor:>8.1f}"
        )


if __name__ == "__main__":
    main()
