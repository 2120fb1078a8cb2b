"""Baton reads the values used by a real bash: generated scripts, with programs that only take notes."""

import itertools
import shutil
import subprocess

import pytest

from baton.lib.bash.read import read
from tests.judge.flows import PROGRAMS, scripts
from tests.lines.corpus import judged, of_line
from tests.support.cases import listed
from tests.support.shipped import shipped

# One write for a whole line: what runs beside another, as `<(…)` does, else writes into the midst of its line.
_STUB = '#!/bin/sh\nline=$(printf "%s\\037" "${0##*/}" "$@")\nprintf "%s\\n" "$line" >> "$RUNS"\n'
_TOOLS = ("bash", "sh", "cat", "rev", "cut", "sed", "tr", "head", "tail", "xargs", "env", "tee")
_SEED, _FEW, _MANY = 20_240_601, 25, 600


def ran(text, folder):
    """Return what a bash runs that finds no other programs than these."""
    log, work = folder / "runs", folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    log.write_text("")
    subprocess.run(
        ["bash", "-c", text], cwd=work, env={"PATH": str(folder / "bin"), "RUNS": str(log)}, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=60, check=False,
    )  # fmt: skip
    return [tuple(line.split("\037")[:-1]) for line in log.read_text().splitlines()]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bin").mkdir()
    for name in (*PROGRAMS, "ls"):
        (tmp_path / "bin" / name).write_text(_STUB)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in _TOOLS:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    return tmp_path


@pytest.mark.parametrize("count", [_FEW, pytest.param(_MANY, marks=pytest.mark.slow("runs bash six hundred times"))])
def test_programs_run_by_bash_were_read(count, folder):
    policies = shipped()
    lost, passed, runs = {}, {}, 0
    for text in itertools.islice(scripts(_SEED), count):
        shell = read(policies.tables, text)
        have = {program.argv for program in shell.programs}
        # `ls` only prints, so its arguments are not followed.
        found = [one for one in ran(text, folder) if one[:1] and one[0] in PROGRAMS]
        runs += len(found)
        missing = [one for one in found if one not in have]
        if missing and not shell.unparsed:
            lost[text] = str(missing)
        removes = any(one[:3] == ("rm", "-rf", "/") for one in found)
        if removes and judged(policies, of_line(text)).effect not in ("deny", "ask"):
            passed[text] = "allowed"
    assert not passed, listed(passed)
    assert not lost, listed(lost)
    assert runs > count
