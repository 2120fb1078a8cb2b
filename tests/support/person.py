"""A person with their own home and project, typing `baton hooks …`."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.command_line import run


class Result(NamedTuple):
    """What `baton …` printed, and its exit status."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


class Person:
    """A home, a project, and what the person types there."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "project"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        subprocess.run(["git", "init", "-q", self.project], check=True)
        subprocess.run(
            ["git", "-C", self.project, "remote", "add", "origin", "https://u:p@h.example/team/app.git"], check=True
        )
        self.settings = self.home / ".claude" / "settings.json"

    def types(self, *words: str) -> Result:
        done = run("hooks", *words, env=dict(os.environ), cwd=Path.cwd())
        return Result(done.returncode, done.stdout, done.stderr)

    def does(self, *words: str) -> Any:
        result = self.types(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def has(self, content: str | bytes) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_bytes(content.encode() if isinstance(content, str) else content)

    def hooks(self, path: Path | None = None) -> dict[str, list[Any]]:
        return json.loads((path or self.settings).read_text())["hooks"]


def entry(hooks: dict[str, list[Any]], event: str) -> dict[str, Any]:
    (group,) = hooks[event]
    (hook,) = group["hooks"]
    return hook
