"""Run the mutants: those of a seeded sample and those with a name. Started by `make mutants`, with areas as arguments.

Fails if a mutant missing in `survivors.yaml` survives, if one with a name survives, or if fewer than KILLED_SHARE of
the sampled ones are killed.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from sample import Mutant, sample

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "tests/mutants"
PYTHON = ROOT / ".venv/bin/python"
WORKERS = 2
KILLED_SHARE = 0.9
PATIENCE = 5
"""A mutant may take this many times as long as the same tests without one, and START_S; then it hangs, and is killed."""
START_S = 60
NAMED = "named"
WITH_SLOW_ONES = ("-m", "not e2e and not image")
"""The test of a mutant with a name is run in all its cases: the one that notices may be left to `make test-all`."""
WHERE = "import baton.main; print(baton.main.__file__)"

_times = count(1)


@dataclass(frozen=True)
class Outcome:
    """What tests said: passed, failed, or hung, in this many seconds."""

    said: str
    seconds: float
    output: str


class Tree:
    """A copy of the repository, in which one file at a time is changed and tests are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, files.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        env = os.environ | {"PYTHONPATH": str(folder / "app")}  # before the path of the editable install
        found = subprocess.run(
            [PYTHON, "-P", "-c", WHERE], cwd=folder, env=env, check=True, capture_output=True, text=True
        )
        assert found.stdout.startswith(str(folder)), f"tests would import {found.stdout}"
        self._nursery = subprocess.Popen(
            [PYTHON, "-P", "tests/mutants/nursery.py"],
            cwd=folder, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, tests: tuple[str, ...], timeout_s: float) -> Outcome:
        """Run tests until the first that fails; a program that cannot even be imported fails too."""
        began = time.monotonic()
        self._nursery.stdin.write(json.dumps({"tests": tests, "timeout_s": timeout_s}) + "\n")
        self._nursery.stdin.flush()
        answer = json.loads(self._nursery.stdout.readline())
        said = {0: "passed", None: "hung"}.get(answer["status"], "failed")
        return Outcome(said, time.monotonic() - began, answer["output"])

    def close(self) -> None:
        """End the process that runs the tests."""
        self._nursery.stdin.close()
        self._nursery.wait()

    def mutated(self, file: str, code: str, tests: tuple[str, ...], timeout_s: float) -> Outcome:
        """Run tests with another text in a file."""
        path = self.folder / file
        original = path.read_text()
        try:
            self._write(path, code)
            return self.run(tests, timeout_s)
        finally:
            self._write(path, original)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Write a file at a time of its own: Python compiles it again only where whole second or size differ."""
        path.write_text(text)
        moment = path.stat().st_mtime + next(_times)
        os.utime(path, (moment, moment))


def listed(name: str) -> list[dict[str, str]]:
    """Read one of the lists beside this file."""
    return yaml.safe_load((LISTS / name).read_text()) or []


def named() -> dict[Mutant, str]:
    """Read the mutants with a name, and their names.

    Raises:
        SystemExit: the text of one does not stand in its file exactly once.
    """
    found = {}
    for one in listed("named.yaml"):
        text = (ROOT / one["file"]).read_text()
        if text.count(one["text"]) != 1:
            raise SystemExit(f"named.yaml: the text of `{one['name']}` must stand once in {one['file']}")
        code = text.replace(one["text"], one["mutant"])
        tests = (one["test"], *WITH_SLOW_ONES)
        found[Mutant(one["file"], NAMED, one["text"], one["mutant"], code, tests)] = one["name"]
    return found


def chosen(areas: list[str]) -> dict[str, list[Mutant]]:
    """Choose the mutants of these areas, of all where none is named."""
    config = yaml.safe_load((LISTS / "areas.yaml").read_text())
    known = [*config["areas"], NAMED]
    if unknown := set(areas) - set(known):
        raise SystemExit(f"unknown area {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    found = {
        area: sample(ROOT, config["seed"], about["sources"], about["tests"], about["sample"])
        for area, about in config["areas"].items()
        if not areas or area in areas
    }
    if not areas or NAMED in areas:
        found[NAMED] = list(named())
    return found


class Run:
    """One run of all chosen mutants on WORKERS copies of the repository."""

    def __init__(self, folder: Path) -> None:
        self._trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for number in range(WORKERS):
            self._trees.put(Tree(folder / str(number)))
        self._pool = ThreadPoolExecutor(WORKERS)
        self._seconds: dict[tuple[str, ...], float] = {}

    def baseline(self, mutants: list[Mutant]) -> None:
        """Run the tests without a mutant: what fails now would kill all.

        Raises:
            SystemExit: they fail.
        """
        selections = sorted({mutant.tests for mutant in mutants})
        for tests, outcome in zip(selections, self._pool.map(self._without, selections), strict=True):
            print(f"without a mutant: {outcome.said} in {outcome.seconds:.0f} s: {' '.join(tests)}", flush=True)
            if outcome.said != "passed":
                raise SystemExit(outcome.output)
            self._seconds[tests] = outcome.seconds

    def _without(self, tests: tuple[str, ...]) -> Outcome:
        tree = self._trees.get()
        try:
            return tree.run(tests, timeout_s=600)
        finally:
            self._trees.put(tree)

    def all(self, mutants: list[Mutant]) -> dict[Mutant, Outcome]:
        """Run the tests of every mutant with it."""
        return dict(zip(mutants, self._pool.map(self._one, mutants), strict=True))

    def _one(self, mutant: Mutant) -> Outcome:
        tree = self._trees.get()
        try:
            timeout_s = START_S + PATIENCE * self._seconds[mutant.tests]
            outcome = tree.mutated(mutant.file, mutant.code, mutant.tests, timeout_s)
        finally:
            self._trees.put(tree)
        print(
            f"{'SURVIVED' if outcome.said == 'passed' else outcome.said} {outcome.seconds:.0f} s {mutant}", flush=True
        )
        return outcome

    def close(self) -> None:
        """End what the run started."""
        self._pool.shutdown(cancel_futures=True)
        while not self._trees.empty():
            self._trees.get().close()


def report(areas: dict[str, list[Mutant]], outcomes: dict[Mutant, Outcome]) -> int:
    """Print what was killed by area, and return the exit status."""
    excused = {(one["file"], one["function"], one["line"], one["mutant"]) for one in listed("survivors.yaml")}
    names = named()
    by_said = {area: defaultdict(list) for area in areas}
    for area, mutants in areas.items():
        for mutant in mutants:
            by_said[area][outcomes[mutant].said].append(mutant)
    print("\narea            mutants  killed  hung  survived")
    for area, said in by_said.items():
        figures = len(areas[area]), len(said["failed"]) + len(said["hung"]), len(said["hung"]), len(said["passed"])
        print(f"{area:15} {figures[0]:7} {figures[1]:7} {figures[2]:5} {figures[3]:9}")
    survivors = [mutant for said in by_said.values() for mutant in said["passed"]]
    unlisted = [m for m in survivors if (m.file, m.function, m.line, m.mutant) not in excused]
    for mutant in unlisted:
        print(f"SURVIVED, and survivors.yaml does not list it: {names.get(mutant, '')} {mutant}")
    sampled = [mutant for area, mutants in areas.items() if area != NAMED for mutant in mutants]
    killed = sum(outcomes[mutant].said != "passed" for mutant in sampled)
    share = killed / len(sampled) if sampled else 1.0
    print(f"{killed} of {len(sampled)} sampled mutants killed: {share:.1%}; {KILLED_SHARE:.0%} is asked for")
    return 1 if unlisted or share < KILLED_SHARE else 0


def main() -> int:
    """Choose, run and report."""
    areas = chosen(sys.argv[1:])
    mutants = [mutant for found in areas.values() for mutant in found]
    with tempfile.TemporaryDirectory(prefix="baton-mutants-") as folder:
        run = Run(Path(folder))
        try:
            run.baseline(mutants)
            return report(areas, run.all(mutants))
        finally:
            run.close()


if __name__ == "__main__":
    sys.exit(main())
