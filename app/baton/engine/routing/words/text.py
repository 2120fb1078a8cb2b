"""Split text for the scorer: words, stems, the parts of a name."""

import re
from functools import lru_cache

import msgspec
import Stemmer

HEAD, TAIL = 2_000, 1_000
"""Characters of a prompt's beginning and end that are read; what people ask stands there, logs stand between."""

_WORD = re.compile(r"[^\W_]+(?:[+#]+(?!\w))?")
_CONTRACTED = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|m|d|ll|re|ve))(?![^\W_])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_SCRIPTS = re.compile(f"([{_UNSPACED}]+)")
"""Chinese, Japanese and Korean: their words are not told apart by spaces, or carry their grammar at their ends."""
_ESCAPED_BREAK = re.compile(r"\\[nrt]")
_REMEMBERED = 50_000
"""Words whose stems are remembered: a team's prompts are made of fewer."""
_LONGEST_WORD = 40
"""Characters; longer ones are hashes, keys and base64, which no description holds."""

_STOP_WORDS = """
    a about above after again against all also am an and any anyone are as at be because been before being below
    between both but by ca can cannot could did do does doing done down during each either else ever every few for from
    further get gets getting give given go goes going gonna got had has have having he her here hers him his how however
    i if in into is it its itself just kind know let lets like ll look lot made make makes making may maybe me might mine
    more most much must my myself need needed needs no nor not now of off ok okay on once one only or other our ours out over
    own per please put quite rather re really s same see she should since so some somebody someone something still such t
    sure take than thank thanks that the their theirs them then there these they thing things think this those through
    thus to today together too try trying under until up upon us use used uses using ve very via want wanted wants
    was way we well were what whatever when where whether which while who whom whose why will with within without wo
    would yes yet you your yours"""
_BRAND_NAMES = (
    "javascript typescript coffeescript actionscript github gitlab graphql postgresql mysql mariadb nosql mongodb dynamodb"
    " couchdb influxdb duckdb devops devsecops mlops gitops finops paypal fastapi pytorch numpy scipy macos ios ipados"
    " tvos webos youtube linkedin wordpress woocommerce latex chatgpt openai websocket websockets webgl webrtc nextjs"
    " nodejs vuejs nuxtjs nestjs angularjs reactjs powershell bitbucket airflow hubspot salesforce"
)
_BRANDS = frozenset(_BRAND_NAMES.split())
"""Names that are one word, however they are written."""
_LANGUAGES = frozenset({"c", "r"})
_STOP = frozenset(_STOP_WORDS.split())
_SHORT = {
    "a11y": "accessibility", "admin": "administrator", "ai": "ai", "api": "api", "apis": "api", "app": "application",
    "apps": "application", "async": "asynchronous", "auth": "authentication", "authn": "authentication",
    "authz": "authorization", "cfg": "configuration", "conf": "configuration", "config": "configuration",
    "configs": "configuration", "db": "database", "dbs": "database", "deps": "dependency", "dep": "dependency",
    "dev": "development", "devs": "developer", "doc": "documentation", "docs": "documentation", "env": "environment",
    "envs": "environment", "golang": "go", "gql": "graphql", "i18n": "internationalization", "infra": "infrastructure",
    "js": "javascript", "k8s": "kubernetes", "kube": "kubernetes", "l10n": "localization", "lib": "library",
    "libs": "library", "llms": "llm", "mem": "memory", "ml": "ml", "msg": "message", "ops": "operations",
    "param": "parameter", "params": "parameter", "perf": "performance", "pg": "postgresql", "postgres": "postgresql",
    "pkg": "package", "prod": "production", "pw": "password", "py": "python", "rb": "ruby", "reactjs": "react",
    "nodejs": "node", "vuejs": "vue", "nextjs": "next", "repo": "repository", "repos": "repository",
    "rn": "react", "rs": "rust", "sec": "security", "spec": "specification", "specs": "specification",
    "stats": "statistics", "tf": "terraform", "ts": "typescript", "tsx": "typescript", "jsx": "javascript",
    "ui": "ui", "vuln": "vulnerability", "vulns": "vulnerability", "ddb": "dynamodb", "otel": "opentelemetry",
}  # fmt: skip
"""What people write short, as descriptions write it out."""


def bounded(prompt: str) -> str:
    """Return what is read of a prompt, with a mark in the place of each half of a character."""
    text = prompt if len(prompt) <= HEAD + TAIL else f"{prompt[:HEAD]}\n{prompt[-TAIL:]}"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_stop_word(word: str) -> bool:
    """Return whether a lower-case word says nothing of what a prompt is about."""
    return word in _STOP


def plain(text: str) -> str:
    r"""Make the line breaks real that an agent's file holds as `\n`."""
    return _ESCAPED_BREAK.sub("\n", text)


def words(text: str) -> list[str]:
    """Split into lower-case words, `don't` as `do`; an identifier like `parseConfig` is itself and its parts.

    Chinese, Japanese and Korean fall into pairs of characters that overlap.
    """
    found: list[str] = []
    for word in _WORD.findall(_CONTRACTED.sub("", text.replace("_", " "))):
        if word.isascii():
            _add(word, found)
            continue
        for place, part in enumerate(_SCRIPTS.split(word)):
            if place % 2:
                found += (part[at : at + 2] for at in range(max(1, len(part) - 1)))
            elif part:
                _add(part, found)
    return found


def _add(word: str, found: list[str]) -> None:
    if len(word) > _LONGEST_WORD:
        return
    lower = word.lower()
    found.append(lower)
    if lower != word and not (word[1:].islower() or word.isupper() or lower in _BRANDS):
        parts = _CAMEL.sub(" ", word).lower().split()
        found += parts if len(parts) > 1 else ()


def stems(text: str) -> list[str]:
    """Return the stems of all words, in their order."""
    return read(text).stems


def terms(text: str) -> list[str]:
    """Return the stems of the words that mean something."""
    return read(text).terms


class TextReading(msgspec.Struct, frozen=True):
    """A text's words and their stems, in their order; `terms` are the stems of words that mean something."""

    words: list[str]
    stems: list[str]
    terms: list[str]


def read(text: str) -> TextReading:
    """Read a text."""
    found = words(text)
    read_words = [_read_word(word) for word in found]
    return TextReading(found, [stem for stem, _ in read_words], [stem for stem, tells in read_words if tells])


@lru_cache(maxsize=_REMEMBERED)
def _read_word(word: str) -> tuple[str, bool]:
    """Return a word's stem, and whether it may speak for an agent: a lone letter or digit does not, but a language's."""
    # A stemmer of its own each time: they cannot be shared by threads, and cost less than a microsecond.
    stem: str = Stemmer.Stemmer("english", 0).stemWord(_SHORT.get(word, word))
    return stem, word not in _STOP and (len(word) > 1 or word in _LANGUAGES or word > "\u2fff")


@lru_cache(maxsize=4_096)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the words of an agent's name, without a namespace and without `agent` itself."""
    plain_name = name.rpartition(":")[2]
    parts = words(plain_name if plain_name.lower() in _BRANDS else _CAMEL.sub(" ", plain_name))
    return tuple(part for part in parts if part not in {"agent", "agents", "subagent"}) or tuple(parts)
