"""What events cost `/pre-tool-use`: the CPU time of two servers, one with `BATON_EVENTS=off`, in alternating blocks.

Run with `python -m bench.emission`. CPU time is counted, so that a busy machine disturbs less; the figure is the median ratio.
"""

import http.client
import json
import statistics
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.support.server import Server, serving

BLOCKS = 20
CALLS = 4_000


def _block(server: Server, first: int) -> float:
    """Send calls on one connection; return the CPU seconds of the server's own process."""
    process = psutil.Process(server.process.pid)
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    before = process.cpu_times()
    for number in range(first, first + CALLS):
        call = {
            "session_id": f"s{number % 20}",
            "tool_use_id": f"t{number}",
            "tool_name": "Bash",
            "tool_input": {"command": "git status"},
        }
        connection.request("POST", "/pre-tool-use", json.dumps(call), {"content-type": "application/json"})
        connection.getresponse().read()
    after = process.cpu_times()
    connection.close()
    return float(after.user + after.system - before.user - before.system)


def main() -> None:
    """Print the microseconds of each server for a call, and the ratio."""
    folder = Path(tempfile.mkdtemp())
    with serving(folder / "on") as on, serving(folder / "off", BATON_EVENTS="off") as off:
        for server in (on, off):
            _block(server, 0)
        costs: list[tuple[float, float]] = []
        for number in range(1, BLOCKS + 1):
            order = (on, off) if number % 2 else (off, on)
            taken = {id(server): _block(server, number * CALLS) for server in order}
            costs.append((taken[id(on)], taken[id(off)]))
    per_call = [statistics.median(column) / CALLS * 1e6 for column in zip(*costs, strict=True)]
    ratio = statistics.median(one / other for one, other in costs)
    print(f"with events {per_call[0]:.0f} µs, without {per_call[1]:.0f} µs, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
