"""Why a policy set was refused. It finds no problems itself."""

from collections.abc import Iterable

from baton.engine.text.yaml_lines import Problem

__all__ = ["PolicyProblems", "Problem"]


class PolicyProblems(Exception):
    """A policy set that is not accepted; `problems` says what is wrong, in order of file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: (problem.file, problem.line, problem.text))
        super().__init__("\n".join(map(str, self.problems)))
