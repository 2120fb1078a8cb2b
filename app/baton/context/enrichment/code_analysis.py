"""The handler `code_analysis`: the location of code relevant to a prompt, from the developer's own code map."""

from baton.context.codemap.index import PATH, CodeIndexes, FoundFile
from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt
from baton.shared.code_map import Symbol

VERSION = "lines-1"


class CodeAnalysis:
    """Names relevant files and symbols."""

    name = "code_analysis"
    heading = "Code"

    def __init__(self, indexes: CodeIndexes) -> None:
        self._indexes = indexes

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return the files probably relevant to the prompt. Raise DatabaseUnavailable."""
        if not prompt.project:
            return Enrichment()
        index = await self._indexes.get(prompt.principal, prompt.project)
        found = index.search(prompt.text) if index is not None else []
        if not found:
            return Enrichment()
        return Enrichment(
            text="\n".join(map(worded, found)), relevance=min(1.0, found[0].score / PATH), prompt_version=VERSION
        )


def worded(file: FoundFile) -> str:
    """Return a file as a line of markdown: its path, its symbols with their lines, and the files using them."""
    symbols = ", ".join(map(_worded, file.symbols))
    users = f"; used in {', '.join(f'`{path}`' for path in file.used_in)}" if file.used_in else ""
    return f"- `{file.path}`" + (f": {symbols}" if symbols else "") + users


def _worded(symbol: Symbol) -> str:
    name = f"{symbol.within}.{symbol.name}" if symbol.within else symbol.name
    return f"{symbol.kind} `{name}` (line {symbol.line})"
