"""The demonstration's machine: a runner whose agent is `agent.py`, and a repository for it, in a folder of their own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

import yaml

from baton.cli.demo.story import WORKSPACE
from baton.local import config
from baton.local.server import ApiError

PROVIDERS = ("codex", "claude_code")
_AGENT = Path(__file__).with_name("agent.py")
_FILES = {
    "payments/client.py": 'import requests\n\nURL = "https://payments.example.com"\n\n\ndef pay(order):\n    return requests.post(f"{URL}/orders/{order}")\n',
    "README.md": "# shop\n\nA shop that the demonstration works on.\n",
}
_END_S = 20


class Machine:
    """Run a runner for the owner of the token; remove the folder and everything in it afterwards."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __enter__(self) -> Self:
        """Start the runner. Raises ApiError where there is no git, without which no agent has a worktree."""
        if shutil.which("git") is None:
            raise ApiError("`git` is not installed; the demonstration's agent works in a repository")
        self._folder = Path(tempfile.mkdtemp(prefix="baton-demo-"))
        repository = self._folder / "shop"
        for name, text in _FILES.items():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_text(text)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
            own = ("-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false")
            subprocess.run(["git", *own, *words], cwd=repository, check=True, capture_output=True)
        settings = {
            "name": "demo",
            "slots": 4,
            "notices": False,
            "drain_s": 0.5,
            "cancel_grace_s": 1,
            "workspaces": {WORKSPACE: str(repository)},
            "providers": {name: {"command": [sys.executable, "-I", "-S", str(_AGENT)]} for name in PROVIDERS},
        }
        file = self._folder / "runner.yaml"
        file.write_text(yaml.safe_dump(settings))
        found = config.load()
        env = os.environ | {
            "BATON_URL": found.url,
            "BATON_USER": found.user,
            "BATON_CA_FILE": found.ca_file,
            "BATON_TOKEN": self._token,
            "XDG_STATE_HOME": str(self._folder / "state"),
        }
        command = [sys.executable, "-m", "baton", "runner", "run", "--config", str(file)]
        # A session of its own: Ctrl-C is the demonstration's, which ends the runner after it.
        self._runner = subprocess.Popen(
            command, env=env, cwd=self._folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.terminate()
        try:
            self._runner.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._runner.kill()
            self._runner.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
