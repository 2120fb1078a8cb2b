"""The last stage: puts the sections together, whole ones only. It writes no section itself."""

from baton.route.pipeline.stage import Route, Section, StageName
from baton.route.prompt import Prompt

LONGEST = 8_000
"""Characters of the context: clients pass on some 9,500 bytes in line."""


class Assemble:
    """Joins the sections in their order, without those that there is no room for."""

    name: StageName = "assemble"
    budget_s = 0.05

    async def run(self, prompt: Prompt, route: Route) -> None:  # noqa: ARG002 - every stage is handed both
        """Write the context; a local model's answer stands alone."""
        route.additional_context = (
            route.delegated.text[:LONGEST] if route.delegated is not None else assembled(route.sections)
        )


def assembled(sections: list[Section]) -> str:
    """Give the markdown; the section of the lowest priority goes first, of two alike the later one."""
    kept = [one for one in sections if one.text]
    while kept and len(_joined(kept)) > LONGEST:
        lowest = min(one.priority for one in kept)
        last = max(number for number, one in enumerate(kept) if one.priority == lowest)
        del kept[last]
    return _joined(kept)


def _joined(sections: list[Section]) -> str:
    return "\n\n".join(f"## {one.heading}\n\n{one.text}" for one in sections)
