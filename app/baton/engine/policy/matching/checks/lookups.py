"""Which calls look things up: the clients' own tools, and shell lines that do the same."""

from collections.abc import Iterable

from baton.engine.policy.matching.checks.program_checks import AnyProgram, any_program, words
from baton.engine.policy.matching.context import Context
from baton.engine.policy.rules.model import Config
from baton.engine.text.globs import any_of

LOOKUP_MARK = " (look-up)"
"""Ends the name of a call in a session's history if its shell line looked something up. Names without it, as older
servers wrote them, are not look-ups by shell."""
_TOOLS, _PROGRAMS = "lookup_tools", "lookup_programs"
LOOKUP_LISTS = frozenset({_TOOLS, _PROGRAMS})
"""The lists that every rule with `lookup` reads, without naming them."""


class Lookups:
    """Tells look-ups from other calls, by the lists `lookup_tools` and `lookup_programs` of config.yaml.

    `by_class` is False where the team counts each look-up tool by its own name, and shell lines not at all.
    """

    def __init__(self, config: Config) -> None:
        lists = config.lists
        self.by_class = config.lookups == "class"
        self.is_tool = any_of(words(f"${_TOOLS}", lists) if _TOOLS in lists else [])
        self._programs = any_program([f"${_PROGRAMS}"], lists) if _PROGRAMS in lists else AnyProgram()

    def of_line(self, context: Context) -> str:
        """Return the first program of the call's line that looks something up, as it is called; "" for none."""
        shell = context.shell
        if shell is not None and self.by_class:
            for index, program in enumerate(shell.programs):
                if self._programs.holds(context, shell, index):
                    return " ".join(program.argv)
        return ""

    def latest(self, tools: Iterable[str]) -> str:
        """Return the last of these past calls that was a look-up, by its tool's name; "" for none."""
        found = [name for name in tools if name.endswith(LOOKUP_MARK) or self.is_tool(name)]
        return plain(found[-1]) if found else ""


def plain(name: str) -> str:
    """Return the tool of a call in a session's history."""
    return name.removesuffix(LOOKUP_MARK)
