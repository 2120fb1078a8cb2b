"""The clients' abilities by event, with the proven version, for docs/clients.md and `baton hooks install`."""

from pathlib import Path

from baton.clients.registry import SPECS
from baton.clients.spec import ClientEvent, Spec

PATH = Path("docs/clients.md")
_WAIT = """A rule's `wait` lets a call wait for a person's answer, at most for the seconds below. Meanwhile no client shows the reason or
the request. A cancelled call does not run, also when it is approved later; a hook that still waits uses that approval up."""
_WORDS = {"block": "can block", "rewrite": "rewrite", "context": "add context"}


def summary(client: Spec) -> list[str]:
    """Return a client's abilities for `baton hooks install`."""
    proof = (
        f"Proven with {client.title} {client.version}"
        if client.version
        else f"By {client.title}'s documentation, not proven"
    )
    return [
        f"{proof}: {'; '.join(_sentence(client, one) for one in client.proven.values())}.",
        f"Sub-agents are known: {client.subagents}. Their model can be set: {client.model}.",
        *client.notes,
    ]


def _proof(client: Spec) -> str:
    return client.version or "not proven"


def _question(client: Spec, event: ClientEvent) -> str:
    """Return the effect of a question in the answer to an event, "" if it is impossible."""
    return client.ask if "ask" in event.honoured else ""


def _sentence(client: Spec, one: ClientEvent) -> str:
    words = [word for key, word in _WORDS.items() if key in one.honoured]
    if question := _question(client, one):
        words.append(f"a question: {question}")
    return f"{one.native} {', '.join(words) or 'is only heard'}"


def document() -> str:
    """Return docs/clients.md."""
    text = [
        "# Clients",
        "",
        "<!-- written by `make operations` from app/baton/clients/ -->",
        "",
        "What each client was seen to honour in an answer to its hooks, with the version that proved it in `make e2e`; of one that",
        'is "not proven", what its documentation says.',
        "Empty cell: the client does not support it.",
        "Below, each client has a table of all its events. Baton answers `{}` to an event that it does not use, and installs no hook for it.",
        "",
        "| client | version | event | its name there | block | ask | rewrite | add context |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for client in SPECS.values():
        for one in client.proven.values():
            block, rewrite, context = ("yes" if key in one.honoured else "" for key in _WORDS)
            ask = _question(client, one)
            text.append(_row(client.title, _proof(client), one.name, f"`{one.native}`", block, ask, rewrite, context))
    text += ["", _WAIT, ""]
    text += ["| client | version | seconds | at the terminal meanwhile, and after Esc |", "|---|---|---|---|"]
    for client in SPECS.values():
        longest = str(client.longest_wait or "not proven")
        text.append(_row(client.title, _proof(client), longest, client.waiting))
    text += ["", "| client | version | knows sub-agents | sets their model |", "|---|---|---|---|"]
    text += [_row(client.title, _proof(client), client.subagents, client.model) for client in SPECS.values()]
    for client in SPECS.values():
        text += ["", f"## {client.title}", "", *(f"- {note}" for note in client.notes)]
        text += ["", "| event | used as | for, or why not |", "|---|---|---|"]
        text += [_row(f"`{one.native}`", one.name and f"`{one.name}`", one.why) for one in client.events]
    return "\n".join(text) + "\n"


def _row(*cells: str) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


if __name__ == "__main__":
    PATH.write_text(document())
