"""Requests made by Schemathesis from the API's own document, up to a number. It judges no answer itself."""

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path

from bench.soak.world import world

SETTINGS = Path(__file__).with_name("schemathesis.toml")
PATIENT = {"BATON_POLL_S": "0", "BATON_REDIS_TIMEOUT_MS": "5000"}
"""Settings of a server on a busy machine: a 503 after 60 ms of Redis is not the document's fault."""
CASES = 20_000
"""Minimum number of requests."""
EXAMPLES = 60
"""Fuzzed requests of each operation in one round, besides its examples and edge cases."""
LONGEST_S = 3_600.0
"""Time limit of the whole, in seconds."""
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def command(document: str, *, examples: int, seed: int, settings: Path = SETTINGS) -> list[str]:
    """Return Schemathesis's command for one round over all operations."""
    tool = str(Path(sys.executable).parent / "schemathesis")
    words = [
        tool,
        "--config-file",
        str(settings),
        "run",
        document,
        "--checks",
        _CHECKS,
        "--mode",
        "all",
        "--no-color",
        "--workers",
        "2",
    ]
    return [*words, "--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]


def counted(said: str) -> int:
    """Read the number of requests from the summary; 0 without one."""
    found = re.search(r"^Test cases:\n\s+(\d+) generated", said, re.MULTILINE)
    return int(found[1]) if found else 0


async def odd_requests(cases: int = CASES, examples: int = EXAMPLES) -> bool:
    """Try the API with at least so many requests; False if it violated its document."""
    made, seed, end = 0, 0, time.monotonic() + LONGEST_S
    async with world(**PATIENT) as running:
        document = f"http://127.0.0.1:{running.http.port}/openapi.json"
        while made < cases and time.monotonic() < end:
            seed += 1
            words = [*command(document, examples=examples, seed=seed), *running.http.header_arguments()]
            done = await asyncio.to_thread(
                subprocess.run, words, capture_output=True, text=True, check=False, cwd=running.home
            )
            made += counted(done.stdout)
            print(f"{made} odd requests, seed {seed}", flush=True)
            if done.returncode or not counted(done.stdout):
                print(done.stdout[-20_000:] + done.stderr[-2_000:])
                return False
    return made >= cases
