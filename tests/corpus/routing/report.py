"""Measures the router on the rosters and prompts of this folder; run as a module it prints the figures."""

from dataclasses import dataclass

from baton.engine.routing.index import Index
from baton.route.rosters.word_table import find
from tests.corpus.routing.rosters_of import labelled, negatives, rosters

THRESHOLD = 0.3


@dataclass
class Measured:
    """Shares from 0 to 1; negatives by kind, each asked of every roster."""

    top_1: float
    top_3: float
    coverage: float
    precision: float
    auroc: dict[str, float]
    false_routes: dict[str, float]


def measure(*, with_table=True):
    """Route every prompt, and every negative over every roster."""
    table = find() if with_table else None
    indexes = {name: Index(agents, table) for name, agents in rosters().items()}
    ranks, sure = [], []
    for roster, agent, prompt in labelled():
        index = indexes[roster]
        ranking = index.score(prompt)
        names = [index.names[one.agent] for one in ranking]
        ranks.append(names.index(agent) if agent in names else 99)
        sure.append(ranking[0].probability)
    chosen = [rank for rank, confidence in zip(ranks, sure, strict=True) if confidence >= THRESHOLD]
    wrong = {kind: [] for kind in ("far", "near")}
    for kind, prompt in negatives():
        wrong[kind] += [index.score(prompt)[0].probability for index in indexes.values()]
    return Measured(
        top_1=sum(rank == 0 for rank in ranks) / len(ranks),
        top_3=sum(rank < 3 for rank in ranks) / len(ranks),
        coverage=len(chosen) / len(ranks),
        precision=sum(rank == 0 for rank in chosen) / max(1, len(chosen)),
        auroc={kind: _auroc(sure, found) for kind, found in wrong.items()},
        false_routes={kind: sum(one >= THRESHOLD for one in found) / len(found) for kind, found in wrong.items()},
    )


def _auroc(positives, negatives):
    wins = sum((one > other) + 0.5 * (one == other) for one in positives for other in negatives)
    return wins / len(positives) / len(negatives)


if __name__ == "__main__":
    for name, measured in (("with the table", measure()), ("words alone", measure(with_table=False))):
        print(name, measured)
