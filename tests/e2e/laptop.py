"""A developer's machine with `baton runner` and the real agents. It starts them; the tests give their tasks."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import psutil
import yaml

from tests.e2e import clients
from tests.e2e.conftest import BATON, Server
from tests.e2e.model_endpoint import ModelEndpoint

LIMIT_S = 120.0


@dataclass
class Laptop:
    """A developer's machine: a project, a `runner.yaml` for one model endpoint, and the runner's process."""

    server: Server
    home: Path
    model: ModelEndpoint
    process: subprocess.Popen[bytes] | None = None
    seen: list[psutil.Process] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    """Providers beside the two real ones."""

    @cached_property
    def token(self) -> str:
        """The developer's token, for the runner and for what a person does."""
        return self.server.token_of(self.home.parent.name)

    @property
    def project(self) -> Path:
        return self.home / "project"

    def start(self, *, plain: bool = False) -> None:
        """Write the configuration and start the runner; with `plain` the agents have no adapter."""
        self.project.mkdir(parents=True)
        codex_home = self.home / ".codex"
        codex_home.mkdir()
        (codex_home / "config.toml").write_text(
            clients.CODEX_CONFIG.format(url=self.model.url, model=clients.CODEX_MODEL)
        )
        quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
        claude = dict.fromkeys((*quiet, "DISABLE_ERROR_REPORTING"), "1")
        claude |= {"ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "dummy"}
        codex = {"CODEX_HOME": str(codex_home), "SCRIPTED_KEY": "dummy", "MODEL_PROVIDER": "scripted"}
        codex["CODEX_PATH"] = str(clients.binary("codex"))
        providers = {
            "claude_code": {
                "command": ["node", str(clients.binary("claude-agent-acp"))],
                "mode": "default",
                "env": claude,
            },
            "codex": {"command": ["node", str(clients.binary("codex-acp"))], "mode": "workspace-write", "env": codex},
        }
        if plain:
            providers["claude_code"] |= {"driver": "claude-print", "command": [str(clients.binary("claude"))]}
            command = [str(clients.binary("codex")), "app-server"]
            providers["codex"] |= {"driver": "codex-server", "command": command}
        file = self.home / ".config" / "baton" / "runner.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(yaml.safe_dump({"workspaces": {"shop": str(self.project)}, "providers": providers | self.more}))
        env = clients.clean_env(self.home) | {"BATON_URL": self.server.url, "BATON_TOKEN": self.token}
        with (self.home / "runner.log").open("ab") as log:
            command = [BATON, "runner", "run"]
            self.process = subprocess.Popen(command, env=env, cwd=self.home, stdout=log, stderr=log)

    def baton(self, *arguments: str) -> None:
        """Run the command line in the project, as the developer would."""
        env = clients.clean_env(self.home) | {"BATON_URL": self.server.url, "BATON_USER": self.home.parent.name}
        subprocess.run([BATON, *arguments], cwd=self.project, env=env, check=True, capture_output=True, timeout=60)

    def agents(self) -> list[psutil.Process]:
        """The processes below the runner; kept, so that a test can see them gone."""
        assert self.process is not None
        self.seen = psutil.Process(self.process.pid).children(recursive=True)
        return self.seen

    def call(self, method: str, path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx2.request(method, self.server.url + path, json=body or None, headers=headers, timeout=LIMIT_S)
        return answer.raise_for_status().json()

    def delegate(self, provider: str, prompt: str = "[[main]] go", **more: Any) -> str:
        body = {"user_prompt": prompt, "provider": provider, "workspace": "shop", **more}
        return str(self.call("POST", "/delegate", **body)["job"]["id"])

    def until(self, found: Callable[[], Any]) -> Any:
        end = time.monotonic() + LIMIT_S
        while not (value := found()):
            assert time.monotonic() < end, self.state()
            time.sleep(0.05)
        return value

    def state(self) -> str:
        """Return what is known of the jobs and what the runner logged, for whoever waited in vain."""
        jobs = json.dumps(self.call("GET", "/jobs")["items"], indent=1)
        return f"{jobs}\n{(self.home / 'runner.log').read_text()}"

    def reaches(self, job: str, *states: str) -> dict[str, Any]:
        return dict(self.until(lambda: (one := self.call("GET", f"/jobs/{job}"))["state"] in states and one))

    def ended(self, job: str) -> dict[str, Any]:
        return self.reaches(job, "completed", "failed", "cancelled")

    def updates(self, job: str) -> list[dict[str, Any]]:
        """What the agent told in a job that has ended."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx2.stream("GET", f"{self.server.url}/jobs/{job}/events", headers=headers, timeout=LIMIT_S) as stream:
            events = [json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:")]
        return [event["update"] for event in events if event.get("source") == "delegated_agent"]
