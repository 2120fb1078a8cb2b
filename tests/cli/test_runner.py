"""`baton runner init`, `doctor` and `status`, as a person runs them."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import run

AGENT = Path(__file__).parents[1] / "runner" / "agent.py"


@pytest.fixture
def baton(tmp_path):
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "BATON_URL": "http://127.0.0.1:9"}
    return lambda *words: run("runner", *words, env=env, cwd=tmp_path)


def test_init_writes_a_file_once(baton, tmp_path):
    (tmp_path / "shop").mkdir()
    file = tmp_path / "new" / "runner.yaml"
    assert baton("init", "--config", str(file)).returncode == 0
    assert yaml.safe_load(file.read_text())["slots"] == 2
    again = baton("init", "--config", str(file))
    assert (again.returncode, "--force" in again.stderr) == (1, True)


def test_doctor_lists_working_and_missing_agents(baton, tmp_path):
    (tmp_path / "shop").mkdir()
    providers = {
        "codex": {"command": [sys.executable, "-I", "-S", str(AGENT)]},
        "gemini": {"command": ["no-such-agent"]},
        "opencode": {"command": [sys.executable, "-c", "raise SystemExit('log in first')"]},
    }
    file = tmp_path / "runner.yaml"
    file.write_text(yaml.safe_dump({"workspaces": {"shop": str(tmp_path / "shop")}, "providers": providers}))
    done = baton("doctor", "--config", str(file), "--json")
    found = {one["what"]: one["ok"] for one in json.loads(done.stdout)}
    assert done.returncode == 1
    assert [ok for what, ok in found.items() if "`codex` answers" in what] == [True]
    assert [ok for what, ok in found.items() if "`no-such-agent` is not installed" in what] == [False]
    assert [ok for what, ok in found.items() if "log in first" in what] == [False]
    assert [ok for what, ok in found.items() if "no server answers" in what] == [False]


def test_without_a_file_its_creation_is_explained(baton):
    done = baton("run")
    assert (done.returncode, "baton runner init" in done.stderr) == (1, True)


def test_after_init_with_nothing_installed_doctor_names_the_packages(tmp_path):
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path), "BATON_URL": "http://127.0.0.1:9"}
    (tmp_path / "shop").mkdir()
    run("runner", "init", env=env, cwd=tmp_path / "shop")
    done = run("runner", "doctor", env=env, cwd=tmp_path)
    assert done.returncode == 1
    for package in ("@agentclientprotocol/codex-acp", "@agentclientprotocol/claude-agent-acp", "@google/gemini-cli"):
        assert f"`npm install -g {package}`" in done.stdout + done.stderr
