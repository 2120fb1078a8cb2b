"""The built-in evaluator: checks edited text against patterns. It is deterministic and asks no model."""

import posixpath
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from baton.context.patterns.index import IndexedPattern
from baton.context.patterns.pattern import PatternCheck, compiled
from baton.lib.text.globs import Match, any_path

# The language of a file by its name, in the words used by patterns.

_BY_SUFFIX = {
    "python": "py pyi pyw", "javascript": "js jsx mjs cjs", "typescript": "ts tsx mts cts", "go": "go", "rust": "rs",
    "java": "java", "kotlin": "kt kts", "scala": "scala sc", "c": "c h", "cpp": "cc cpp cxx hpp hh hxx", "csharp": "cs",
    "swift": "swift", "ruby": "rb rake", "php": "php", "perl": "pl pm", "lua": "lua", "r": "r", "dart": "dart",
    "elixir": "ex exs", "erlang": "erl hrl", "haskell": "hs", "clojure": "clj cljs cljc", "shell": "sh bash zsh",
    "powershell": "ps1 psm1", "sql": "sql", "html": "html htm", "css": "css", "scss": "scss sass", "vue": "vue",
    "svelte": "svelte", "json": "json", "yaml": "yaml yml", "toml": "toml", "xml": "xml", "markdown": "md mdx",
    "terraform": "tf tfvars", "protobuf": "proto", "graphql": "graphql gql", "zig": "zig", "ocaml": "ml mli",
}  # fmt: skip
_SUFFIXES = {suffix: language for language, suffixes in _BY_SUFFIX.items() for suffix in suffixes.split()}
_NAMES = {"dockerfile": "dockerfile", "makefile": "make", "justfile": "make", "rakefile": "ruby", "gemfile": "ruby"}


def language_of(path: str) -> str:
    """Return the language of a file, "" if unknown."""
    name = posixpath.basename(path).lower()
    return _NAMES.get(name) or _SUFFIXES.get(name.rpartition(".")[2], "") if name else ""


MOST_PATTERNS = 10
"""Maximum patterns checked for one edit, those with the highest confidence."""


class EditJudgement(msgspec.Struct, frozen=True):
    """Whether an edit violated a pattern."""

    pattern: IndexedPattern
    violated: bool


def applicable(patterns: Iterable[IndexedPattern], path: str) -> list[IndexedPattern]:
    """Return the patterns for a file, by descending confidence; `path` is relative to the project."""
    language = language_of(path)
    found = [one for one in patterns if one.language in {"", language} and (not one.globs or _globs(one.globs)(path))]
    return sorted(found, key=lambda one: (-one.confidence, one.id))


def judge(patterns: Sequence[IndexedPattern], text: str, *, whole: bool) -> list[EditJudgement]:
    """Check a string against patterns; checks that do not apply are omitted."""
    data = text.encode("utf-8", "replace")
    found = ((one, _violates(one.check, data, whole=whole)) for one in patterns)
    return [EditJudgement(one, violated) for one, violated in found if violated is not None]


def _violates(check: PatternCheck, data: bytes, *, whole: bool) -> bool | None:
    """Return whether a string violates a check, None if the check does not apply."""
    if not check or (check.when and compiled(check.when).search(data) is None):
        return None
    if check.forbidden and compiled(check.forbidden).search(data) is not None:
        return True
    if check.wanted and (check.when or whole):
        return compiled(check.wanted).search(data) is None
    return False if check.forbidden else None


@lru_cache(maxsize=2_000)
def _globs(globs: tuple[str, ...]) -> Match:
    return any_path(globs)
