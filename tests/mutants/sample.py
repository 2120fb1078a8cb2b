"""Choose the mutants of a run: a seeded sample of cosmic-ray's mutants of the areas' files."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

OPERATORS = (
    "AddNot",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ReplaceAndWithOr",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBreakWithContinue",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ZeroIterationForLoop",
)
"""One operator for each mistake. The others of cosmic-ray repeat these (`==` becomes `<`, `<=`, `>` … in turn), or make
what cannot run: `str | None` in an annotation becomes `str / None`, which every test kills."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file. Two mutants are the same when all but `code` and `tests` is, wherever the line moves to."""

    file: str
    function: str
    line: str
    mutant: str
    code: str = field(compare=False, repr=False)
    tests: tuple[str, ...] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file} {self.function}: `{self.line}` → `{self.mutant}`"


@dataclass(frozen=True)
class _Place:
    key: str
    file: str
    function: str
    operator: str
    occurrence: int


def sample(root: Path, seed: str, sources: list[str], tests: list[str], size: int) -> list[Mutant]:
    """Choose `size` mutants of the files that these patterns match.

    A mutant's place in the order is the hash of the seed and of what it changes: an edit elsewhere in a file does not
    choose others.
    """
    files = sorted({path for pattern in sources for path in root.glob(pattern)})
    texts = {str(path.relative_to(root)): path.read_text() for path in files}
    places = [place for file, text in texts.items() for place in _places(file, text)]
    places.sort(key=lambda place: hashlib.sha256(f"{seed} {place.key}".encode()).digest())
    return [_mutant(place, texts[place.file], tuple(tests)) for place in places[:size]]


def _places(file: str, text: str) -> list[_Place]:
    lines, tree = text.splitlines(), get_ast(text)
    same: Counter[str] = Counter()
    places = []
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        found = ((node, start) for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (node, start) in enumerate(found):
            if _declares(node):
                continue
            function = ASTQuery(node).get_definition_name() or ""
            key = f"{file} {function} {name} {lines[start[0] - 1].strip()}"
            same[key] += 1  # several in one line: a number tells them apart
            places.append(_Place(f"{key} {same[key]}", file, function, f"core/{name}", occurrence))
    return places


def _declares(node: Any) -> bool:
    """Whether it is the `*` of a signature or stands in a class's header (`frozen=True`): the type checker's business."""
    if node.parent is not None and node.parent.type == "parameters":
        return True
    while node.parent is not None and node.type != "suite":
        if node.parent.type == "classdef":
            return True
        node = node.parent
    return False


def _mutant(place: _Place, text: str, tests: tuple[str, ...]) -> Mutant:
    code = mutate_code(text, get_operator(place.operator)(), place.occurrence)
    before, after = text.splitlines(), code.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    line, mutant = (" ".join(" ".join(part).split()) for part in (before, after))
    return Mutant(place.file, place.function, line, mutant, code, tests)
