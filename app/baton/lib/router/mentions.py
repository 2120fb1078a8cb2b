"""Finds the agents requested by name in a prompt: `@agent-x`, "use agent-x", "the x agent".

A name alone is no request: it may be a colleague's role, a statement of a language, or an agent to be worked on.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from baton.lib.router.languages import in_english
from baton.lib.router.prompts import begins

# The words around an agent's name for requesting it, excluding it, or merely mentioning it.
#
# English first, then German, French, Spanish, Portuguese, Chinese, Japanese and Korean. Chinese, Japanese and Korean write
# no spaces around a name, and the latter two put the verb behind it.

ARTICLES = r"(?:the|our|my|this|your|an?|den|die|das|der|dem|unseren?|einen?|le|la|un|el|o|al|ao|à|a)"
AGENT = r"(?:(?:sub-?)?agent(?:en|es|s|e)?|sous-agent|sub-?agente)"
REQUEST = (
    r"(?:use|using|ask|call|invoke|run|spawn|start|launch|try|consult|delegate\s+(?:it\s+|this\s+)?to|(?:let|have)"
    r"|hand\s+(?:it\s+|this\s+)?(?:over\s+)?to|(?:give|send|pass|assign|leave)\s+(?:it|this|that)\s+to|via|with|by"
    r"|verwende|verwenden\s+sie|nutze|nutzen\s+sie|benutze|benutzen\s+sie|frage?|fragen\s+sie|lass(?:e|en\s+sie)?|starte|rufe?|mit"
    r"|utilis(?:e|er|ez|ons)|demand(?:e|er|ez)(?:\s+à)?|appel(?:le|er|ez)|lanc(?:e|er|ez)|avec"
    r"|usa|usar|utiliza|utilizar|llama|pregunta|pide|lanza|con|utilize|chame|pergunte|pe[çc]a|rode|com)"
)  # verbs and prepositions straight before a name, of somebody who wants the agent
_FOREIGN_AGENT = r"(?:エージェント|에이전트|代理|智能体|智能體|子代理)"

NOT_WANTED = re.compile(
    r"(?:(?<!why )\bnot|n['\u2019]t|\bnever|\bdont|\bwithout|\binstead\s+of|\brather\s+than|\bother\s+than|\bunlike|\bexcept"
    r"|\bavoid|\bstop|\bignor(?:e|ing)|\bskip|\bbypass|\bexclud(?:e|ing)|\bdisable|\bforget(?!\s+to)|\bno\s+longer"
    r"|\bnicht|\bkeine?n?|\bohne|\bstatt|\bnie|\bpas|\bsans|\bjamais|\bau\s+lieu\s+d[e']|\bsin|\bnunca"
    r"|\ben\s+(?:vez|lugar)\s+de|\bsem|\bem\s+vez\s+d[eo]|\bn[ãa]o|\bwhy|\bdid)(?:\s+\w+){0,3}\s*(?:l['\u2019])?$"
    r"|\bno(?:\s+\w+){0,2}\s*$"
    r"|(?:不要|不用|别|別|勿|不必)[^\s,\uff0c。]{0,4}\s*$",
    re.IGNORECASE,
)  # before a name: what says that it is not to be used

NOT_WANTED_AFTER = re.compile(
    r"[\"'`\u201d\u2019]?\s*(?:" + AGENT + r"\s+|" + _FOREIGN_AGENT + r")?(?:nicht\b|pas\b"
    r"|(?:を|は|に)?\s*(?:使わ|つかわ|呼ば|頼ま|不要)"
    r"|(?:를|을|는|은|에게)?\s*(?:사용하지|쓰지|부르지|호출하지))",
    re.IGNORECASE,
)  # the same behind a name, where German, Japanese and Korean put it

SPOKEN_OF_BEFORE = re.compile(
    r"\b(?:add|change|configure|create|debug|delete|edit|extend|fix|improve|modify|refactor|remove|rename|rewrite"
    r"|update|write|used|asked|called|ran|invoked|tried|started|launched|spawned|describe|explain|show|list|document|install|build|implement|about|from|of|what(?:['\u2019]s|\s+is|\s+does|\s+did)"
    r"|how\s+(?:does|do|did|is)|which|does|is|was|class|function|method|module|called|named)"
    r"\s+(?:" + ARTICLES + r"\s+)?[\"'`\u201c\u2018]?$",
    re.IGNORECASE,
)  # before "the x agent": what is to be done to it, or asked about it, and not done by it

SPOKEN_OF_AFTER = re.compile(
    r"(?:['\u2019]s\b|\s+(?:is|was|were|has|had|did|does|doesn['\u2019]t|didn['\u2019]t|isn['\u2019]t|wasn['\u2019]t|keeps?|kept|gave|gives"
    r"|said|says|told|made|makes|wrote|got|took|went|broke|breaks|found|thought|seems?|fails|returns|(?!need)\w{2,}ed"
    r"|hat|war|ist|a|est|dio|dijo|hizo|es|deu|disse|fez|é)\b)",
    re.IGNORECASE,
)  # behind "the x agent": what it has done or is like, said by somebody who reports on it

ASKED_AFTER = re.compile(
    r"\s*(?:" + _FOREIGN_AGENT + r""
    r"|を(?:使|つか|呼)|に(?:聞|頼|任|依頼|お願)|で"
    r"|(?:를|을)\s*(?:사용|써|쓰|호출|실행|불)|에게)"
)  # behind a name, where Japanese and Korean say what is to be done with it, and Chinese that it is an agent
ASKED_BEFORE = re.compile(r"(?:使用|调用|調用|让|讓|用|请|請|叫)\s*[\"'`]?$")


_COMPANION = re.compile(r"\b(?:via|with|by|mit|avec|con|com)\s+\W*(?:\w+\s+)?\W*$", re.IGNORECASE)
"""A preposition is a request only in a sentence that begins with what to do: `review it with x`, not `I met with x`."""
_HABIT = re.compile(
    r"\b(?:i|we|they|he|she|who|people|everybody|everyone|nobody|[a-z]+s)\s+(?:always|usually|often|sometimes|never|already"
    r"|only|still|also)?\s*(?:use|ask|call|run|have|try|consult|give|send)\s+\W*(?:\w+\s+)?\W*$",
    re.IGNORECASE,
)  # before a name: who does something as a habit, so it is a statement
_PERSON = re.compile(
    r"\s+[A-Z][a-z]+\b|.{0,60}?\b(?:he|she|him|his|her|hers|(?i:on (?:leave|holiday|vacation)|salary|birthday|lunch))\b"
)  # behind a name: a first name or a pronoun, so it is a colleague's role
_VOCATIVE = re.compile(r"\s*(?:[,:]|(?:please|pls|bitte)\b)", re.IGNORECASE)
"""Behind a name that begins a prompt: the agent is addressed."""
_DOER = re.compile(
    r"(?:er|or|ist|ian|ect|pro|dev|lead|expert|analyst|critic|detective|guru|officer|ops)s?$", re.IGNORECASE
)  # how the last word of a name ends that says who does something: `code-review` is work, `code-reviewer` a role
_ROLE = re.compile(
    r"(?:cod|debugg|design|develop|document|engine|explor|fix|manag|optimiz|plann|research|review|test|writ)e?ers?"
    r"|(?:architect|analyst|auditor|critic|coordinator|detective|orchestrator|scout|validator)s?",
    re.IGNORECASE,
)  # names of one word that say the same: `docker` and `refactor` do not


_LOOK_BACK, _LOOK_AHEAD = 60, 80  # characters before and behind a mention that are looked at
_MOST_WORDS = 6
_MOST_PARTS = 4  # words of a name that is looked for without a word of asking beside it
"""Words of a name that is written out."""
_OPEN, _CLOSE = "[\"'`\u201c\u2018]?", "[\"'`\u201d\u2019]?"
_AT = re.compile(r"(?<!\w)@([\w:.-]+)")
_BEFORE_AGENT = re.compile(rf"{_CLOSE}[\s-]+{AGENT}\b", re.IGNORECASE)
_AFTER_AGENT = re.compile(rf"\b{AGENT}[\s:]+{_OPEN}(?P<name>[\w:.-]+)", re.IGNORECASE)
# Compound names, rare among a prompt's words: `x-y`, `plugin:x`, `ReviewAgent`.
_COMPOSED = re.compile(r"\w+[_.:-][\w:.-]*\w|[a-z0-9]+[A-Z]\w*|[A-Z]\w*[a-z0-9][A-Z]\w*")
_REQUESTED = re.compile(rf"\b{REQUEST}\s+(?:{ARTICLES}\s+|l['\u2019])?{_OPEN}$", re.IGNORECASE)
# A name within Chinese, Japanese or Korean. `\w` would join them.
_FOREIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_AROUND = "\"'`\u201c\u201d\u2018\u2019.,:;!?()[]"
_WORD = re.compile(r"[A-Za-z0-9:]+|[^\sA-Za-z0-9:_.-]+")
_PART = re.compile(r"[A-Za-z0-9]+")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_SEPARATORS = re.compile(r"[\s_.-]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]")


class Mentioned(msgspec.Struct, frozen=True):
    """The agents named in a prompt, by number.

    Attributes:
        asked: The first requested agent.
        unwanted: Agents to be left out, reported on, or worked on.
        idle: Spans of role names not requested. They are no evidence of the prompt's subject.
    """

    asked: int | None = None
    unwanted: frozenset[int] = frozenset()
    idle: tuple[tuple[int, int], ...] = ()

    def without_idle(self, prompt: str) -> str:
        """Return the prompt without the names not requested."""
        for start, end in reversed(self.idle):
            prompt = f"{prompt[:start]} {prompt[end:]}"
        return prompt


NOBODY = Mentioned()


class Mentions:
    """The names of a roster, as people write them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._exact = {name: number for number, name in reversed(list(enumerate(names)))}
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(_key(name), number)
        for number, name in enumerate(names):
            for key in _other_keys(name):
                self._numbers.setdefault(key, number)
        roles = [_PART.findall(name.rpartition(":")[2]) for name in names]
        roles = [parts for parts in roles if parts and _is_role(parts)]
        self._roles = {_key("".join(parts)) for parts in roles}
        self._firsts = {parts[0].lower() for parts in roles}

    def mentioned(self, prompt: str) -> Mentioned:
        """Return the agents named in a prompt, and whether it requests them."""
        idle = list(self._idle(prompt))
        found = (*self._at(prompt), *self._beside_agent(prompt), *self._after_verb(prompt), *self._foreign(prompt))
        asked: int | None = None
        others: set[int] = set()
        for start, end, number, spoken_of in sorted(found):
            if spoken_of or _is_refused(prompt, start, end):
                others.add(number)
                continue
            idle = [one for one in idle if one[1] <= start or one[0] >= end]
            if asked is None:
                asked = number
        return Mentioned(asked, frozenset(others - {asked}), tuple(idle)) if found or idle else NOBODY

    def _idle(self, prompt: str) -> Iterator[tuple[int, int]]:
        """Find the names of roles, the longest first, in any context."""
        parts, after = list(_PART.finditer(prompt)), 0
        for at, first in enumerate(parts):
            lower = first[0].lower()
            if at < after or self._firsts.isdisjoint((lower, lower.removesuffix("s"))):
                continue
            for count in range(min(_MOST_PARTS, len(parts) - at), 0, -1):
                end = parts[at + count - 1].end()
                key = _key(prompt[first.start() : end])
                if key in self._roles or key.removesuffix("s") in self._roles:
                    yield first.start(), end
                    after = at + count
                    break

    def _number(self, name: str, *, code: bool = True) -> int | None:
        """Return the number of a written name.

        If a name of code is possible as well (`code`), a spelling like `DatabaseExpert` is a class, unless an agent has
        exactly this name.
        """
        name = name.rstrip(".:-")
        if code and _CAMEL.search(name):
            return self._exact.get(name)
        key = _key(name)
        return self._numbers.get(key, self._numbers.get(key.removeprefix("agent")))

    def _at(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        for match in _AT.finditer(prompt):
            number = self._number(match[1])
            if number is not None:
                yield match.start(), match.end(), number, False

    def _beside_agent(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find "the x agent" and "the agent x", by the longest name."""
        if "agent" not in prompt.lower():
            return
        for match in _BEFORE_AGENT.finditer(prompt):
            start = max(0, match.start() - _LOOK_BACK)
            before = prompt[start : match.start()]
            for word in list(_WORD.finditer(before))[-_MOST_WORDS:]:
                number = self._number(before[word.start() :], code=False)
                if number is not None:
                    at = start + word.start()
                    yield at, match.end(), number, _is_spoken_of(prompt, at, match.end())
                    break
        for match in _AFTER_AGENT.finditer(prompt):
            number = self._number(match["name"])
            # "an agent planner" may be anything; a compound or quoted name is a name.
            quoted = match[0][match.start("name") - match.start() - 1] in _AROUND
            named = quoted or _SEPARATORS.search(match["name"]) or _is_requested(prompt, match.start())
            if number is not None and named:
                yield match.start(), match.end(), number, _is_spoken_of(prompt, match.start(), match.end())

    def _after_verb(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find "use agent-x", and "x-y, look at this". A single plain word is too common to count as a name."""
        for match in _COMPOSED.finditer(prompt):
            number = self._number(match[0])
            if number is None:
                continue
            start, end = match.span()
            addressed = not prompt[:start].strip(_AROUND + " ") and _VOCATIVE.match(prompt, end)
            if addressed or (_is_requested(prompt, start) and not _PERSON.match(prompt, end)):
                yield start, end, number, False

    def _foreign(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find names in Chinese, Japanese and Korean sentences, with the words of asking before or behind them."""
        if prompt.isascii() or not _FOREIGN.search(prompt):
            return
        for match in _NAME.finditer(prompt):
            number = self._number(match[0])
            if number is None:
                continue
            before = prompt[max(0, match.start() - _LOOK_BACK) : match.start()]
            behind = ASKED_AFTER.match(prompt, match.end())
            if behind or (ASKED_BEFORE.search(before) and _SEPARATORS.search(match[0])):
                yield match.start(), match.end(), number, False


def _is_refused(prompt: str, start: int, end: int) -> bool:
    return bool(
        NOT_WANTED.search(prompt[max(0, start - _LOOK_BACK) : start])
        or NOT_WANTED_AFTER.match(prompt[end : end + _LOOK_AHEAD])
    )


def _is_requested(prompt: str, start: int) -> bool:
    before = prompt[max(0, start - _LOOK_BACK) : start]
    if not _REQUESTED.search(before) or _HABIT.search(before):
        return False
    if not _COMPANION.search(before):
        return True
    return begins(in_english(_SENTENCE_END.split(before)[-1]).lstrip(_AROUND + " "), 0)


def _is_role(parts: Sequence[str]) -> bool:
    return bool(_DOER.search(parts[-1]) if len(parts) > 1 else _ROLE.fullmatch(parts[0]))


def _is_spoken_of(prompt: str, start: int, end: int) -> bool:
    """Return whether an agent is only the subject: it is to be changed, or has done something."""
    if SPOKEN_OF_BEFORE.search(prompt[max(0, start - _LOOK_BACK) : start]):
        return True
    return bool(SPOKEN_OF_AFTER.match(prompt[end : end + _LOOK_AHEAD])) and not _is_requested(prompt, start)


def _other_keys(name: str) -> Iterator[str]:
    """Return the other ways a name may be written: without its namespace, without the word `agent` around it."""
    for one in (name, name.rpartition(":")[2]):
        key = _key(one)
        yield from (part for part in (key, key.removeprefix("agent"), key.removesuffix("agent")) if part)


def _key(name: str) -> str:
    return _SEPARATORS.sub("", name.strip(_AROUND)).lower().removeprefix("@")
