"""The variants of `wrappings.py`: each runs its command in a real bash, and the shipped policies stop each."""

import os
import subprocess

import pytest

from tests.judge.run import missed
from tests.judge.wrappings import INDIRECTIONS, QUOTINGS, TARGETS, Target, dress, mixed
from tests.support.cases import listed
from tests.support.shipped import shipped

pytestmark = pytest.mark.slow("wraps every line in every wrapper")

MARKER = '#!/bin/sh\necho "$*" >> "$RAN"\n'
HERE = Target("marker", "marker", "a 'b c'")


@pytest.fixture
def runs(tmp_path):
    """Return a function that runs a line in bash and returns what the marker program was called with."""
    (tmp_path / "bin").mkdir()
    marker = tmp_path / "bin" / "marker"
    marker.write_text(MARKER)
    marker.chmod(0o755)
    log = tmp_path / "ran"
    (tmp_path / ".bash_profile").write_text(f"PATH={tmp_path}/bin:$PATH")  # a login shell sets its own

    def run(line):
        log.write_text("")
        environment = {
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "RAN": str(log),
        }
        where = line.replace("/tmp/x.sh", f"{tmp_path}/x.sh").replace("cd /tmp", f"cd {tmp_path}")
        with subprocess.Popen(
            ["bash", "-c", where], env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as shell:  # fmt: skip
            shell.communicate(timeout=60)  # what it left in the background holds the pipe open until it is done
        return log.read_text().splitlines()

    return run


def test_every_indirection_runs_its_command(runs):
    lost = {name: line for name in INDIRECTIONS if "a b c" not in runs(line := dress(HERE, "", "plain", name).line)}
    assert not lost, listed(lost)


def test_every_quoting_names_the_same_program(runs):
    by_path = ("path", "relative path")
    lost = {
        name: line
        for name in QUOTINGS
        if name not in by_path and "a b c" not in runs(line := dress(HERE, "", name, "direct").line)
    }
    assert not lost, listed(lost)


def test_a_sample_of_all_dresses_is_stopped():
    policies = shipped()
    some = [dress(target, "", "plain", name) for target in TARGETS for name in INDIRECTIONS]
    let = {repr(one.line): one.target.kind for one, was in missed(policies, [*some, *mixed(7, 300)]) if was}
    assert not let, listed(let)
