"""Measures the router on the rosters and prompts of this folder; run as a module it prints the figures."""

from dataclasses import dataclass

from baton.kernel.base.word_table import shared
from baton.lib.router.index import Index
from baton.lib.router.prompts import skip_reason
from baton.route.pipeline.sections import SURE
from baton.route.pipeline.select import ABOUT
from tests.corpus.routing.public import domains
from tests.corpus.routing.rosters_of import labelled, negatives, rosters


@dataclass
class Measured:
    """Shares from 0 to 1; negatives by kind, each asked of every roster.

    `texts` is how many prompts get a text, `hits` how many of these texts name the right agent, `commands` how many name
    a single one, `right` how many of those are right; `false_texts` is how many of what is for nobody gets a text.
    """

    top_1: float
    top_3: float
    texts: float
    hits: float
    commands: float
    right: float
    auroc: dict[str, float]
    false_texts: dict[str, float]


def measure(*, with_table=True):
    """Route every prompt, and every negative over every roster."""
    table = shared() if with_table else None
    indexes = {name: Index(agents, table) for name, agents in rosters().items()}
    ranks, likely, texts = [], [], []
    for roster, agent, prompt in labelled():
        index = indexes[roster]
        ranking = index.rank(prompt)
        names = [index.names[one.agent] for one in ranking.agents]
        ranks.append(names.index(agent) if agent in names else 99)
        likely.append(ranking.about)
        if _told(prompt, ranking):
            texts.append((ranks[-1], ranking.agents[0].probability >= SURE))
    commands = [rank for rank, alone in texts if alone]
    wrong = {kind: [] for kind in ("far", "near", "follow", "foreign")}
    told = {kind: [] for kind in wrong}
    for kind, prompt in (*negatives(), *(("foreign", one.prompt) for one in domains()[1])):
        for index in indexes.values():
            ranking = index.rank(prompt)
            wrong[kind].append(ranking.about)
            told[kind].append(_told(prompt, ranking))
    return Measured(
        top_1=sum(rank == 0 for rank in ranks) / len(ranks),
        top_3=sum(rank < 3 for rank in ranks) / len(ranks),
        texts=len(texts) / len(ranks),
        hits=sum(rank == 0 if alone else rank < 3 for rank, alone in texts) / max(1, len(texts)),
        commands=len(commands) / len(ranks),
        right=sum(rank == 0 for rank in commands) / max(1, len(commands)),
        auroc={kind: _auroc(likely, found) for kind, found in wrong.items()},
        false_texts={kind: sum(found) / len(found) for kind, found in told.items()},
    )


def _told(prompt, ranking):
    return not skip_reason(prompt) and ranking.about >= ABOUT


def _auroc(positives, negatives):
    wins = sum((one > other) + 0.5 * (one == other) for one in positives for other in negatives)
    return wins / len(positives) / len(negatives)


if __name__ == "__main__":
    for name, measured in (("with the table", measure()), ("words alone", measure(with_table=False))):
        print(name, measured)
