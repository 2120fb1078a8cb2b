"""The rosters and prompts of the accuracy tests, as the router sees them."""

import csv
from pathlib import Path

from baton.lib.router.agents import read
from baton.route.rosters.agents import policy_agents
from tests.support.shipped import shipped

HERE = Path(__file__).parent


def rosters():
    """Return each roster's agents by its name."""
    by_id = shipped().rosters.by_id
    own = {
        folder.name: [read(path.name, path.read_text()) for path in sorted(folder.iterdir())]
        for folder in (HERE / "rosters").iterdir()
    }
    return own | {name: policy_agents(by_id[name]) for name in ("ultrapower", "stravinsky", "claude-code")}


def labelled():
    """Return (roster, agent, prompt) triples."""
    return _rows("prompts.tsv")


def negatives():
    """Return (kind, prompt) pairs.

    `far` ones have nothing to do with software, `near` ones need no agent, `follow` ones go on with what is under way.
    """
    return _rows("negatives.tsv")


def languages():
    """Return (language, agent, prompt) triples for the roster `ultrapower`."""
    return _rows("languages.tsv")


def _rows(name):
    with (HERE / name).open(newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
