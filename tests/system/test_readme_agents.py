"""The README's transcript of a fresh server and a project with three agent files, played with the real shim."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import clean_environment
from tests.support.server import BATON, serving

README = Path(__file__).parents[2] / "README.md"
SECTION = "## Route prompts to your agents"
FILES = {
    "checkout-engineer": ("Works on carts, discounts, gift cards and refunds.", "model: inherit"),
    "code-reviewer": ("Reviews a change for faults before it is merged.", "model: haiku"),
    "test-engineer": ("Writes tests and finds out why one is flaky.", "color: green"),
}


def transcript():
    """Return the commands of the section's first block, and what the README says that they print."""
    block = re.search(rf"{SECTION}.*?```console\n(.*?)```", README.read_text(), re.DOTALL)[1]
    commands, outputs = [], []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            outputs.append([])
        elif line.startswith("> "):
            commands[-1] += "\n" + line[2:]
        else:
            outputs[-1].append(line)
    return commands, outputs


@pytest.fixture
def project(tmp_path):
    place = tmp_path / "home" / "shop"
    (place / ".claude/agents").mkdir(parents=True)
    for name, (description, more) in FILES.items():
        text = f"---\nname: {name}\ndescription: {description}\n{more}\n---\nThe body stays here.\n"
        (place / ".claude/agents" / f"{name}.md").write_text(text)
    (place / ".git").mkdir()
    (place / ".git/config").write_text('[remote "origin"]\n\turl = https://github.com/acme/shop.git\n')
    return place


@pytest.mark.slow("a transcript of the README, with a server of its own")
def test_the_transcript_of_agents_that_are_there_is_what_happens(project, tmp_path):
    commands, outputs = transcript()
    with serving(tmp_path / "server") as server:
        env = clean_environment(HOME=str(tmp_path / "home"), BATON_URL=server.url, BATON_USER="alice")
        env["PATH"] = f"{Path(BATON).parent}:{env['PATH']}"
        installed = subprocess.run(
            ["baton", "hooks", "install"], env=env, cwd=project, capture_output=True, text=True, check=False
        )
        assert installed.returncode == 0, installed.stderr
        ran = subprocess.run(
            ["sh"],
            input="\necho ----\n".join(commands),
            env=env,
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert ran.stderr == ""
    said = [part.splitlines() for part in ran.stdout.split("----\n")]
    assert said == outputs
