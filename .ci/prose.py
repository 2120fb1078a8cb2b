"""Measures the prose: relative pronouns, sentences with two or more of them, unusual house words.

`python .ci/prose.py` prints one row per group of texts and exits with 1 if a figure exceeds its goal. Code and link targets
are ignored.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

GOALS = {"relative pronouns per 100 words": 2.0, "% of sentences with two": 4.0, "house words per 1,000": 2.0}
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "policies/README.md", "hooks/README.md")
_SHORTEST = 3
"""Words of a fragment that is no sentence."""
ROOT = Path(__file__).parents[1]
RELATIVE = re.compile(r"\b(that|which|whose|whom|who|where|what|whoever|whatever)\b", re.IGNORECASE)
HOUSE = re.compile(
    r"\b(tells?|told|stands?|away|lies|leave|anew|beside|mend(?:s|ed)?|spoken|goes on|go on|begins?|whoever|"
    r"of ones own|is none|are none|held to|is held|the least|a text|whole numbers?|look-ups?|at its other end)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?```|<[^>]+>", re.DOTALL)
_SPAN = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_POLICY_TEXT = re.compile(r"^ *(?:description|reason|suggest|note): *(.+)$", re.MULTILINE)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def figures(texts: Iterable[str]) -> tuple[float, float, float]:
    """Return the figures of some texts, in the order of GOALS."""
    text = _LINK.sub(r"\1", _SPAN.sub("X", _CODE.sub("", "\n\n".join(texts))))
    words = len(re.findall(r"[A-Za-z']+", text)) or 1
    sentences = [one for one in re.split(r"(?<=[.!?:;])\s+|\n\n", text) if len(one.split()) > _SHORTEST] or [""]
    double = sum(len(RELATIVE.findall(one)) > 1 for one in sentences)
    return (
        100 * len(RELATIVE.findall(text)) / words,
        100 * double / len(sentences),
        1000 * len(HOUSE.findall(text)) / words,
    )


def excess(group: str, found: tuple[float, ...]) -> list[str]:
    """Return how a group's figures exceed the goals."""
    return [
        f"{group}: {figure:.1f} {name}, at most {goal}"
        for figure, (name, goal) in zip(found, GOALS.items(), strict=True)
        if round(figure, 1) > goal
    ]


def groups() -> dict[str, list[str]]:
    """Return the project's texts by group."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "app").rglob("*.py"))}
    cli = ROOT / "app/baton/cli"
    return {
        "README": [(ROOT / "README.md").read_text()],
        "docs": _pages("docs"),
        "decision records": _pages("docs/decisions"),
        "contributing": [*_pages("docs/contributing"), *((ROOT / page).read_text() for page in PAGES)],
        "docstrings": [text for tree in trees.values() for text in _docstrings(tree)],
        "errors": [text for tree in trees.values() for text in _errors(tree)],
        "command line help": [
            text for path, tree in trees.items() if path.is_relative_to(cli) for text in _keywords(tree, "help")
        ],
        "settings": [
            text
            for path, tree in trees.items()
            if path.name.endswith("settings.py")
            for text in _keywords(tree, "description")
        ],
        "policies": [
            text.strip("\"'")
            for path in sorted((ROOT / "policies").rglob("*.yaml"))
            for text in _POLICY_TEXT.findall(path.read_text())
        ],
    }


def _pages(folder: str) -> list[str]:
    return [path.read_text() for path in sorted((ROOT / folder).glob("*.md"))]


def _docstrings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text


def _errors(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for text in node.exc.args:
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                yield "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in parts)


def _keywords(tree: ast.AST, name: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def main() -> int:
    """Print each group's figures. Return 1 if one exceeds its goal."""
    wrong = []
    for group, texts in groups().items():
        found = figures(texts)
        wrong += excess(group, found)
        named = ", ".join(f"{figure:.1f} {name}" for figure, name in zip(found, GOALS, strict=True))
        sys.stdout.write(f"{group:18} {named}\n")
    sys.stdout.writelines(f"!! {line}\n" for line in wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
