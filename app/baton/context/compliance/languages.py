"""The language of a file by its name, in the words that patterns use."""

import posixpath

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
    """Return the language of a file, "" for one that is not known."""
    name = posixpath.basename(path).lower()
    return _NAMES.get(name) or _SUFFIXES.get(name.rpartition(".")[2], "") if name else ""
