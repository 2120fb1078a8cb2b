"""A runner with scripted agents (`tests/runner/agent.py`) for the console's tests, and their repository."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.runner.conftest import git
from tests.support.server import BATON, until

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "runner" / "agent.py")]


@contextmanager
def running(server, folder):
    """Run a runner of the person who signs in; yield the repository of its workspace `shop`."""
    shop = folder / "shop"
    shop.mkdir(parents=True)
    (shop / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    git(shop, "init", "-q")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "begin")
    env = server.env | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "BATON_URL": server.url}
    env |= {"BATON_TOKEN": server.token, "XDG_STATE_HOME": str(folder / "state")}
    file = folder / "config" / "baton" / "runner.yaml"
    file.parent.mkdir(parents=True)
    providers = {name: {"command": AGENT} for name in ("codex", "claude_code", "gemini")}
    file.write_text(
        yaml.safe_dump(
            {"slots": 4, "cancel_grace_s": 1, "drain_s": 1, "workspaces": {"shop": str(shop)}, "providers": providers}
        )
    )
    with (folder / "runner.log").open("ab") as log:
        runner = subprocess.Popen([BATON, "runner", "run"], env=env, cwd=folder, stdout=log, stderr=log)
        try:
            with server.client() as http:
                until(lambda: http.get("/runners").json()["items"])
            yield shop
        finally:
            runner.terminate()
            runner.wait(60)
