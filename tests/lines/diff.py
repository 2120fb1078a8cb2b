"""Print each verdict of this folder's lines that differs from another release: `python -m tests.lines.diff REF`.

REF is a git tag or commit. Its tree is checked out into a temporary worktree and served with the current interpreter.
Both servers judge every row, with the mode off and strict, by `POST /policies/evaluate`. The exit status is 1 on a
difference.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.lines.corpus import FOLDER, Row, rows
from tests.support.server import PATIENT, START_S

ROOT = FOLDER.parents[1]
LEVELS = ("off", "strict")
_EFFECTS = {"block": "deny", "ask": "ask"}


@contextmanager
def checked_out(ref: str, folder: Path) -> Iterator[Path]:
    """Check a release out into a worktree, and remove it afterwards."""
    tree = folder / "tree"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, ref], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


@contextmanager
def served(tree: Path, home: Path) -> Iterator[httpx2.Client]:
    """Serve a tree's release, and yield a client of it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= PATIENT | {"BATON_HOME": str(home), "PORT": "0", "PYTHONPATH": str(tree / "app")}
    log = home.with_suffix(".log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "baton", "serve"], cwd=tree, env=env, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        note, end = home / "server.json", time.monotonic() + START_S
        while not note.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the server of {tree} did not start:\n{log.read_text()}")
            time.sleep(0.1)
        with httpx2.Client(base_url=json.loads(note.read_text())["url"], timeout=60, trust_env=False) as client:
            yield client
    finally:
        process.terminate()
        process.wait()


def verdicts(client: httpx2.Client, asked: list[Row]) -> list[str]:
    """Return a server's verdict and rule on each row, with the mode off and strict."""
    found = []
    for row in asked:
        tool, given = row.tool
        call = {"session_id": "s", "tool_name": tool, "tool_input": given, "cwd": row.known.cwd}
        call |= {"history": row.known.history} | ({} if row.known.who == "orchestrator" else {"agent_id": "agent-1"})
        for level in LEVELS:
            answer = client.post("/policies/evaluate", json=call | {"level": level})
            body = answer.json()
            if answer.is_error:
                found.append(f"{answer.status_code} {body.get('detail', '')}")
                continue
            effect = _EFFECTS.get(body["decision"], "allow")
            rule = next((hit["id"] for hit in body["rules"] if hit["effect"] == effect), "")
            found.append(effect if effect == "allow" else f"{effect} {rule}")
    return found


def main(ref: str) -> int:
    """Print the differences from a release and their number."""
    asked = list(rows())
    with tempfile.TemporaryDirectory() as name, checked_out(ref, Path(name)) as tree:
        folder = Path(name)
        with served(tree, folder / "before") as old, served(ROOT, folder / "now") as new, ThreadPoolExecutor(2) as pool:
            before, now = pool.map(verdicts, (old, new), (asked, asked))
    places = [f"{row.where} [{level}]" for row in asked for level in LEVELS]
    changed = [
        f"{place}\n    was {was}, is {is_}" for place, was, is_ in zip(places, before, now, strict=True) if was != is_
    ]
    print("\n".join([*changed, f"{len(changed)} of {len(places)} verdicts differ from {ref}"]))
    return 1 if changed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.lines.diff REF (a git tag or commit)")
    sys.exit(main(sys.argv[1]))
