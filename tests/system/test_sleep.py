"""A machine asleep for longer than a lease: runner and agents continue, and none of their work is lost."""

import contextlib
import os
import signal
import subprocess

import psutil
import pytest
import yaml

from tests.runner.conftest import AGENT
from tests.support.server import BATON, serving, until

DATABASES = ("sqlite", "postgres")


def everything_of(process):
    """Return a process and all that it started."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


@pytest.mark.slow("lets a lease run out")
@pytest.mark.parametrize("database", DATABASES)
def test_a_job_continues_after_its_machine_sleeps(tmp_path, database, request):
    shared = {"BATON_DATABASE_URL": request.getfixturevalue("postgres_url")} if database == "postgres" else {}
    shop, config, go_on = tmp_path / "shop", tmp_path / "config" / "baton", tmp_path / "go-on"
    shop.mkdir()
    config.mkdir(parents=True)
    (config / "runner.yaml").write_text(
        yaml.safe_dump({"workspaces": {"shop": str(shop)}, "providers": {"codex": {"command": AGENT}}})
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(config.parent), "XDG_STATE_HOME": str(tmp_path / "state")}
    said = tmp_path / "runner.out"
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path / "home", **shared))
        token = server.token or (server.home / "admin-token").read_text().strip()
        http = stack.enter_context(server.client(Authorization=f"Bearer {token}"))
        env |= {"BATON_URL": server.url, "BATON_TOKEN": token}
        with said.open("wb") as file:
            runner = subprocess.Popen([BATON, "runner", "run"], env=env, stdout=file, stderr=subprocess.STDOUT)
        try:
            task = {"user_prompt": f"say begun\nawait {go_on}\ncount 200", "session_id": "s"}
            job = http.post("/delegate", json=task).json()["job"]["id"]
            until(lambda: "begun" in http.get(f"/jobs/{job}/output").json()["output"])
            asleep = everything_of(runner)
            for one in asleep:
                one.send_signal(signal.SIGSTOP)
            go_on.touch()
            away = until(lambda: (one := http.get(f"/jobs/{job}").json()).get("disconnected_since") and one, 120)
            assert away["state"] == "running"
            for one in reversed(asleep):
                one.send_signal(signal.SIGCONT)
            until(lambda: http.get(f"/jobs/{job}").json()["state"] == "completed", 120)
            done = http.get(f"/jobs/{job}").json()
        finally:
            for one in everything_of(runner):
                one.kill()
            runner.wait()
    assert (done["attempt"], done.get("disconnected_since"), done.get("late_result")) == (1, None, None)
    assert "no longer" not in said.read_text(), said.read_text()
