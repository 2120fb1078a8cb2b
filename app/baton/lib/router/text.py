"""Split text for the scorer: words, stems, the parts of a name."""

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import re2
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
_REMEMBERED = 50_000  # words whose stems are remembered: a team's prompts are made of fewer
_LONGEST_WORD = 40  # characters; longer ones are hashes, keys and base64, which no description holds

WORDS: dict[str, Any] = tomllib.loads(files("baton.lib.router").joinpath("words.toml").read_text("utf-8"))
"""The lists of `words.toml`, each words separated by blanks."""
_BRAND_NAMES = (
    "javascript typescript coffeescript actionscript github gitlab graphql postgresql mysql mariadb nosql mongodb dynamodb"
    " couchdb influxdb duckdb devops devsecops mlops gitops finops paypal fastapi pytorch numpy scipy macos ios ipados"
    " tvos webos youtube linkedin wordpress woocommerce latex chatgpt openai websocket websockets webgl webrtc nextjs"
    " nodejs vuejs nuxtjs nestjs angularjs reactjs powershell bitbucket airflow hubspot salesforce"
)
_BRANDS = frozenset(_BRAND_NAMES.split())  # names that are one word, however they are written
_LANGUAGES = frozenset({"c", "r"})
_STOP = frozenset(WORDS["stop"].split())
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
    "stats": "statistics", "tf": "terraform", "vat": "tax", "ts": "typescript", "tsx": "typescript", "jsx": "javascript",
    "ui": "ui", "vuln": "vulnerability", "vulns": "vulnerability", "ddb": "dynamodb", "otel": "opentelemetry",
}  # fmt: skip
"""What people write short, as descriptions write it out."""


def bounded(prompt: str) -> str:
    """Return the prefix of a prompt to read, with a mark for each half of a character."""
    text = prompt if len(prompt) <= HEAD + TAIL else f"{prompt[:HEAD]}\n{prompt[-TAIL:]}"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_stop_word(word: str) -> bool:
    """Return whether a lower-case word carries no meaning."""
    return word in _STOP


def plain(text: str) -> str:
    r"""Convert `\n` in an agent's file to real line breaks."""
    return _ESCAPED_BREAK.sub("\n", text)


def words(text: str) -> list[str]:
    """Split into lower-case words, `don't` as `do`. An identifier like `parseConfig` is itself and its parts.

    Chinese, Japanese and Korean fall into overlapping pairs of characters.
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
    """Return the stems of meaningful words."""
    return read(text).terms


class TextReading(msgspec.Struct, frozen=True):
    """The words of a string and their stems, in order; `terms` are the stems of meaningful words."""

    words: list[str]
    stems: list[str]
    terms: list[str]


def read(text: str) -> TextReading:
    """Read a string."""
    found = words(text)
    read_words = [_read_word(word) for word in found]
    return TextReading(found, [stem for stem, _ in read_words], [stem for stem, tells in read_words if tells])


@lru_cache(maxsize=_REMEMBERED)
def _read_word(word: str) -> tuple[str, bool]:
    """Return a word's stem, and whether it may match an agent. A lone letter or digit may not, but a language's may."""
    # A stemmer of its own each time: they cannot be shared by threads, and cost less than a microsecond.
    stem: str = Stemmer.Stemmer("english", 0).stemWord(_SHORT.get(word, word))
    return stem, word not in _STOP and (len(word) > 1 or word in _LANGUAGES or word > "\u2fff")


@lru_cache(maxsize=4_096)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the words of an agent's name, without a namespace and without `agent` itself."""
    plain_name = name.rpartition(":")[2]
    parts = words(plain_name if plain_name.lower() in _BRANDS else _CAMEL.sub(" ", plain_name))
    return tuple(part for part in parts if part not in {"agent", "agents", "subagent"}) or tuple(parts)


# Removes negated requests from a prompt: `do NOT review the code, just format it` is about formatting.
#
# Only requests are read: the negation starts a clause, or is unambiguous. A statement (`the tests don't pass`) stays.

_DO_NOT = r"do\s+not|don['\u2019]?t|do\s?n['\u2019]t"
_END = r"(?:[,;!?\n()\u2014]|[.:](?=\s|$)|\b(?:but|just|only|then|because|although|simply|instead(?!\s+of)|rather(?!\s+than)|sondern|aber|nur|sino|solo|pero|mais|mas|seulement|apenas)\b)"
_CLAUSE = r"(?:^|(?<=[,;:.!?\n(\u2014])|(?<=\s-)|(?<=\bbut)|(?<=\bthen)|(?<=\band))\s?"
_SCOPE = rf"(?:(?!{_END}).)*"
_LEAD = r"(?:(?:please|pls|kindly|but|and|so|then|also|or|ok|okay|now|for now|this time|you|can|could|may)\s+){0,4}+"
_TWICE = r"(?!\s+(?:forget|skip|omit|miss|neglect|hesitate|fail|only|just|merely|simply|you|we|i|they)\b)"
"""`don't forget to review` asks for the review, and `don't you think` for an opinion."""
_NOT = r"(?:not|n['\u2019]t)"
_AT_CLAUSE = (
    (
        rf"{_LEAD}(?:(?:{_DO_NOT}|never|not(?!\s+(?:sure|able|working|found|possible|clear|about)\b)|avoid|refrain\s+from|leave\s+out"
        rf"|hold\s+off\s+on){_TWICE}\b"
        rf"|no(?=\s+\w+(?:\s+\w+)?\s*(?:[,;.!?\n)]|$))(?!\s+(?:idea|problem|one|longer|matter|change)\b)){_SCOPE}"
    ),
    (
        rf"(?:\w+\s+){{1,3}}(?:(?:is|are)\s*{_NOT}\s+(?:needed|necessary|required)"
        rf"|(?:must|should|shall)\s*{_NOT}\s+be\s+(?:touched|changed|modified|edited))\b"
    ),
    rf"enough\b{_SCOPE}",
    (
        r"(?:bitte\s+|und\s+|aber\s+)*(?!(?:es|das|die|der|den|ich|wir|er|sie|man|hier|da|warum|wieso|wo|gibt|findet|wer|kann|vergiss)\b)"
        rf"(?:\w+\s+)?(?:jetzt\s+|bitte\s+|mir\s+)?(?:keine?[nrm]?|nicht)\b(?!\s+(?:vergessen|nur)){_SCOPE}"
    ),
    (
        r"(?:por\s+favor\s+|y\s+|pero\s+)*no\s+(?!(?:puedes|tienes|eres|sabes|olvides)\b)(?:\w+[ae]s|quiero|queremos|hace\s+falta)\b"
        rf"{_SCOPE}"
    ),
    (
        r"(?:por\s+favor\s+|e\s+|mas\s+)*n[\u00e3a]o\s+(?:escrev|us|fa\u00e7|toqu|mex|alter|mud|cri|rod|adicion|revis|quer|precis)\w+"
        rf"{_SCOPE}"
    ),
    rf"(?:et\s+|mais\s+)?n(?:e\s+|['\u2019])(?!oubli)\w+\s+(?:pas|aucune?)\b{_SCOPE}",
)
_ANYWHERE = (
    rf"(?:there\s+is\s+|there['\u2019]s\s+)?no\s+need\s+(?:to|for)\b{_SCOPE}",
    rf"(?:instead\s+of|rather\s+than|not\s+about|without\s+(?=\w+ing\b))\b{_SCOPE}",
    rf"(?:i|we)\s+(?:{_DO_NOT})\s+(?:want|need)\b{_SCOPE}",
    rf"you\s+(?:(?:should|must|need)\s*{_NOT}|(?:{_DO_NOT})\s+(?:have|need)\s+to)\b{_TWICE}{_SCOPE}",
    rf"(?:does|do|will|is|are|wo)\s*{_NOT}\s+(?:need|require|necessary|needed|required)\b{_SCOPE}",
    r"no\s+(?:\w+\s+){1,2}(?:needed|required|necessary)\b",
    (
        r"(?:(?:this|it|that)\s*(?:is|['\u2019]s)(?:\s+|n['\u2019]?t\s+))?not\s+an?\s+(?:\w+\s+){1,3}"
        r"(?:problem|issue|task|bug|question|matter|thing|job)\b"
    ),
    r"(?:das|es)\s+ist\s+kein\w*\s+(?:\w+[\s-]){0,2}\w*(?:problem|fehler|bug|frage|aufgabe|sache)\b",
    rf"(?:(?:has|have|had|is)\s+)?nothing\s+to\s+do\s+with\b{_SCOPE}",
    (
        r"(?:leave|keep)\s+(?:the|all|any|my|our)\s(?:\w+\s+){1,3}"
        r"(?:alone|untouched|unchanged|as\s+(?:it|they)\s+(?:is|are)|out\s+of\s+(?:it|this))\b"
    ),
    rf"(?:stay\s+away\s+from|(?:keep\s+)?(?:your\s+)?hands\s+off)\b{_SCOPE}",
    rf"(?:except|apart\s+from|other\s+than)\s+(?:for\s+)?(?:the|our|any|all|my)\b{_SCOPE}",
    rf"(?:statt|anstatt|anstelle|au\s+lieu\s+d|en\s+(?:vez|lugar)\s+de|em\s+vez\s+d)\w*\b{_SCOPE}",
)
_NEGATED = re.compile(rf"{_CLAUSE}(?:{'|'.join(_AT_CLAUSE)})|\b(?:{'|'.join(_ANYWHERE)})", re.IGNORECASE | re.DOTALL)
_LEFT_OUT = re.compile(
    rf"{_CLAUSE}{_LEAD}(?:skip|forget|ignore)\s+(?:about\s+)?(?:the|any|all|\w+ing)\b(?:(?!{_END}|\band\b).)*"
    rf"|\b(?:without\s+(?:an?|any|the)\b|ohne|sin|sans|sem){_SCOPE}",
    re.IGNORECASE | re.DOTALL,
)  # what may as well be the task itself: `skip the flaky test`, `functions without a test`
_SAYS_NOT = re2.compile(
    r"(?i)\b(?:no|not|never|nothing|avoid|refrain|leave|keep|hold\s+off|hands\s+off|instead|rather|without|except|apart|other\s+than"
    r"|skip|forget|ignore|enough|stay|dont|kein\w*|nicht|ohne|\w*statt|anstelle|sin|sans|sem|au\s+lieu|e[nm]\s+(?:vez|lugar)"
    r"|n[\x{00e3}a]o|ne|n['\x{2019}]\w+)\b|n['\x{2019}]t\b"
)  # a word that a negation has. Few prompts have one, and this search is cheap.
_SENTENCE = re.compile(r"(?:[^.!?;\n]|\.(?=\S))+[.!?;\n]*|[.!?;\n]+")
_BLANKS = re.compile(r"\s+")
_ANY_WORD = re.compile(r"\w{3,}")
_SOUGHT = re.compile(
    r"\b(?:find|list|show|search|detect|identify|locate|which|what|where|all|every|each)\b", re.IGNORECASE
)


def wanted(text: str) -> str:
    """Return a prompt without the clauses saying what not to do; "" if nothing else remains."""
    if not _SAYS_NOT.search(text):
        return text
    squeezed = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text)
    rest = "".join(_NEGATED.sub(" ", one) if _SAYS_NOT.search(one) else one for one in _SENTENCE.findall(squeezed))
    if _SOUGHT.search(rest) is None:
        less = _LEFT_OUT.sub(" ", rest)
        if _ANY_WORD.search(less):
            rest = less
    return text if rest == squeezed else rest.strip(" \t\n,;:.!?\u2014")
