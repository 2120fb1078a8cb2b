"""The plugins of this suite, each in a run of its own: the second chance of tests of real parts, the random order, matrices,
modules that are left out, brief reports."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("starts a pytest of its own in each test")
ROOT = Path(__file__).parents[2]
PASSES_THE_SECOND_TIME = """
import pathlib, pytest
@pytest.fixture(scope="module")
def server():
    return []
def test_of_a_race(server):
    server.append("broken by the first run, and made anew for the second")
    assert len(server) == 1
    times = pathlib.Path(__file__).with_suffix(".times")
    times.write_text(times.read_text() + "x" if times.exists() else "x")
    assert times.read_text() == "xx"
"""
ENDS = """
import pytest
@pytest.fixture
def cannot_be_made():
    raise OSError
@pytest.fixture
def cannot_be_ended():
    yield
    raise OSError
def test_passes():
    pass
def test_fails():
    assert 0
def test_is_skipped():
    pytest.skip()
def test_with_the_one(cannot_be_made):
    pass
def test_with_the_other(cannot_be_ended):
    pass
"""
NUMBERED = (
    "import pytest\n@pytest.mark.parametrize('number', range(20))\ndef test_of(number):\n    print('ran', number)\n"
)


@pytest.fixture
def run(tmp_path):
    def run(folder, source, *options):
        file = tmp_path / folder / "test_it.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
        plugins = [
            f"-ptests.support.{name}" for name in ("brief_reports", "left_out_modules", "matrices", "second_chance")
        ]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            os.devnull,
            "-sv",
            "--rootdir",
            tmp_path,
            *plugins,
            *options,
            file.parent,
        ]
        return subprocess.run(
            [*map(str, command[:3]), "-pno:schemathesis", "-pno:randomly", *map(str, command[3:])],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_system_test_that_passes_the_second_time_is_named(run, workers):
    found = run("system", PASSES_THE_SECOND_TIME, "--second-chance", *workers)
    assert found.returncode == 0, found.stdout
    assert "FLAKY: system/test_it.py::test_of_a_race" in found.stdout
    assert "assert 'x' == 'xx'" in found.stdout, "why it failed is shown"


@pytest.mark.parametrize(("folder", "options"), [("system", ()), ("lib", ("--second-chance",))])
def test_others_have_one_chance(run, folder, options):
    found = run(folder, PASSES_THE_SECOND_TIME, *options)
    assert found.returncode == 1, found.stdout
    assert "FLAKY" not in found.stdout


def test_a_system_test_that_fails_twice_fails(run):
    found = run("system", "def test_it():\n    assert 0\n", "--second-chance")
    assert found.returncode == 1
    assert "FLAKY" not in found.stdout


def test_a_seed_repeats_a_random_order(run):
    def order(*options):
        return re.findall(r"ran (\d+)", run("engine", NUMBERED, *options).stdout)

    seeded = ("-prandomly", "--randomly-seed=1")
    assert order(*seeded) == order(*seeded)
    assert sorted(order(*seeded)) == sorted(order())
    assert order(*seeded) != order()


def test_of_a_matrix_one_case_in_some_is_not_slow(run):
    source = NUMBERED.replace("@pytest", "@pytest.mark.matrix(5)\n@pytest", 1)
    quick = run("any", source, "-mnot slow")
    assert re.findall(r"ran (\d+)", quick.stdout) == ["0", "5", "10", "15"]
    assert "20 passed" in run("any", source).stdout


def test_a_module_that_is_left_out_as_a_whole_is_not_imported(run):
    source = "import pytest\npytestmark = pytest.mark.slow('a reason')\ndef test_it():\n    pass\nprint('imported')\n"
    for chosen, is_imported in (("not slow", False), ("not image and not slow", False), ("not image", True)):
        assert ("imported" in run("any", source, f"-m{chosen}").stdout) is is_imported, chosen
    assert "imported" in run("any", source).stdout


@pytest.mark.parametrize("options", [(), ("-n1",), ("-n1", "--durations=1")])
def test_a_worker_reports_each_test_s_result(run, options):
    *_, last = run("any", ENDS, *options).stdout.splitlines()
    for ended in ("1 failed", "2 passed", "1 skipped", "2 errors"):
        assert ended in last
