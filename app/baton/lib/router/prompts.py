"""Classifies a prompt before scoring: whether to route it at all, and whether it asks for a workflow."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from baton.lib.router.text import WORDS, bounded, read, stems, words

# A prompt's requested actions, and the agents for them: `review …` is for a reviewer.
#
# A prompt starts with the action and continues with its object, full of other agents' words: in
# `document the API's tests` only the first word identifies the agent.

LEADING = 8  # words of a prompt's beginning among which the first that asks for something leads
MOST_STEMS = 200  # words of a prompt that are looked at
_BESIDE, _MOST_BESIDE = 0.5, 2.0  # what an action counts that does not lead, and how many of them count in full
Floats = NDArray[np.float32]

_ACTIONS: dict[str, str] = WORDS["actions"]


class Actions:
    """The agents of a roster by their actions."""

    def __init__(self, agents: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Take each agent as the stems of its name and of its description. An action common to most weighs little."""
        count, done = len(agents), _tables()[1]
        self._done = np.zeros((count, len(_ACTIONS)), dtype=np.float32)
        for row, texts in zip(self._done, agents, strict=True):
            for text in texts:
                row[list({action for stem in text for action in done.get(stem, ())})] += 1
        common = np.count_nonzero(self._done, axis=0)
        self._done *= np.clip(np.log((count + 1) / (common + 0.5)) / math.log(count + 1), 0, 1) if count else 1

    def score(self, prompt_stems: Sequence[str]) -> Floats:
        """Return each agent's score for the prompt's actions: 0 for none, rarely above 2."""
        scores: Floats = self._done @ asked(prompt_stems)
        return scores


def doing(text: Sequence[str]) -> Iterator[str]:
    """Return the stems of the actions in a string, each once."""
    done = _tables()[1]
    return (stem for stem in dict.fromkeys(text) if stem in done)


def asked(prompt_stems: Sequence[str]) -> Floats:
    """Return for each action how much a prompt asks for it; the first action counts most."""
    leading, beside = np.zeros((2, len(_ACTIONS)), dtype=np.float32)
    for place, actions in _named(prompt_stems[:MOST_STEMS]):
        if place < LEADING and not leading.any():
            leading[list(actions)] = 1 / len(actions)
        beside[list(actions)] = 1
    weighed: Floats = leading + beside * np.float32(_BESIDE * min(1.0, _MOST_BESIDE / max(1.0, float(beside.sum()))))
    return weighed


def _named(prompt_stems: Sequence[str]) -> Iterator[tuple[int, tuple[int, ...]]]:
    asking = _tables()[0]
    return ((place, asking[stem]) for place, stem in enumerate(prompt_stems) if stem in asking)


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Return two tables by stem: the requested actions, and the actions of an agent described so."""
    tables: tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]] = ({}, {})
    for action, (doing, asking) in enumerate(_ACTIONS.items()):
        for table, text in zip(tables, (asking, doing), strict=True):
            for stem in dict.fromkeys(stems(text)):
                table[stem] = (*table.get(stem, ()), action)
    return tables


def asks(stem: str) -> bool:
    """Return whether a word asks for something to be done."""
    return stem in _tables()[0]


# Splits a prompt with several requests: `review the diff, then write tests` is two.

MOST = 4  # parts of a prompt that are looked at; each costs as much as a prompt
LONGEST_SPLIT = 600
"""Characters of a prompt that may hold several: a longer one is a description of one thing, or holds a log."""
_LEAST_TERMS = 2  # telling words without which a part is not a request of its own
_MOST_PIECES = 8  # pieces of a prompt above which it is prose, and not a list of requests
_FIRST = re.compile(r"(?:(?:please|you|let['\u2019]?s|could|can)\s+)*(?P<word>[A-Za-z]+)", re.IGNORECASE)
# `and` and a comma join words as often as requests: a part starts there only with an action.
_JOINT = re.compile(
    r"(?P<end>[.;!?]\s+|\s*\n\s*(?:[-*\u2022]\s+|\d{1,2}[.)]\s+)?|[\u3002\uff1b\uff01\uff1f])"
    r"|,?\s+(?:and\s+|und\s+|et\s+|y\s+|e\s+)?(?:then|also|afterwards|after\s+that|finally|dann|ensuite|puis|luego"
    r"|depois)\s+|,?\s+(?:and|plus|und|et|y|e)\s+|,\s+",
    re.IGNORECASE,
)


def parts(prompt: str) -> list[str]:
    """Return the requests of a prompt in their order; an empty list for a prompt of one."""
    if len(prompt) > LONGEST_SPLIT:
        return []
    pieces = _pieces(bounded(prompt).strip())
    if not 1 < len(pieces) <= _MOST_PIECES:
        return []
    found = [text for text in pieces if len(read(text).terms) >= _LEAST_TERMS]
    return found[:MOST] if len(found) > 1 else []


def _pieces(text: str) -> list[str]:
    start, found = 0, []
    for match in _JOINT.finditer(text):
        if match["end"] is not None or begins(text, match.end()):
            found.append(text[start : match.start()].strip())
            start = match.end()
    return [*found, text[start:].strip()]


def begins(text: str, at: int) -> bool:
    """Return whether a request starts here: with an action, or a polite word before it."""
    first = _FIRST.match(text, at)
    return first is not None and asks(stems(first["word"])[0])


# Prompts continuing present work, or mere talk: `yes, do it`, `try the other one`, `thanks`.
#
# They name no work of their own, so any agent matches only by chance.

LONGEST_FOLLOW_UP = 100  # characters; what is longer says more than that something is to go on
_MOST_WORDS = 14
_TALK = frozenset(WORDS["talk"].split())
_POINTING = frozenset(WORDS["points"].split())
"""Words that point at what was said before: with one of them, a single word of work is about that."""
# Chinese, Japanese and Korean: no spaces separate words, so whole phrases are matched.
_PHRASES = re.compile(
    r"(?:好的?|是的?|对的?|行|可以|不对|不是|不要|继续|請繼續|繼續|谢谢|謝謝|再试一次|再来一次|下一个|没问题|请|吧|了|嗯|停"
    r"|はい|いいえ|ええ|うん|続けて|つづけて|ください|下さい|お願いします|ありがとう|ございます|もう一度|次|それで|大丈夫|です|ね|よ|了解"
    r"|네|예|아니요?|계속|해\s?주세요|해줘|하세요|진행|감사합니다|고마워요?|다시|한\s?번|더|좋아요?|좋습니다|그래|응|됐어요?"
    r"|[\s、。\uff0c\uff0e\uff01\uff1f!?,.~…])+"
)


def is_follow_up(prompt: str) -> bool:
    """Return whether a prompt names no work of its own: it refers to earlier work, or to nothing."""
    text = prompt.strip()
    if len(text) > LONGEST_FOLLOW_UP:
        return False
    if _PHRASES.fullmatch(text):
        return True
    said = words(text)
    if not 0 < len(said) <= _MOST_WORDS:
        return False
    telling = [word for word in said if word not in _TALK and not word.isdigit()]
    return not telling or (len(telling) == 1 and not _POINTING.isdisjoint(said))


_LOOKED_AT = 400  # characters at the beginning of a prompt, leading white space left out, that show whether to route it
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)")
_INJECTED = re.compile(
    r"<(?:task-notification|system[-_]reminder|command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)"
    r"|bash-(?:input|stdout|stderr)|(?:agent|teammate|cross-session)-message|(?:user-prompt-submit|post-tool-use)-hook"
    r"|mcp-(?:resource|polling)-update|tick|remote-review|coordinator-relay|fork-boilerplate|user-memory-input"
    r"|(?:sub)?agent[-_]notification|turn_aborted|user_shell_command|environment_context|background-task[\w-]*)[\s>]"
    r"|\[Request interrupted by user"
    r"|\[SYSTEM NOTIFICATION"
    r"|Caveat: The messages below were generated by"
    r"|This session is being continued from a previous conversation"
)

LONGEST = 20_000  # characters of a prompt that are searched for a workflow
_WORKFLOWS = tuple(
    (kind, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for kind, pattern in (
        ("parallel", r"parallel\s+(?:execution|agents?|tasks?)"),
        ("multi-agent", r"multi(?:-|\s+)?agent"),
        ("orchestrate", r"orchestrat(?:e|ion)"),
        ("workflow", r"workflow"),
        ("batch", r"(?:run|execute)\s+(?:all|multiple)"),
        ("automate", r"auto(?:mate|matic|mation|nomous)"),
        ("coordinate", r"coordinat(?:e|ion)"),
        ("dispatch", r"dispatch"),
    )
)


def skip_reason(prompt: str) -> str:
    """Return why a prompt is not routed; "" for a routed one."""
    start = prompt[: _LOOKED_AT * 4].lstrip()[:_LOOKED_AT]
    if not start and not prompt.strip():
        return "the prompt is empty"
    command = _COMMAND.match(start)
    if command:
        return f"`{command[0][:60]}` is a slash command"
    if _INJECTED.match(start):
        return "the client wrote this prompt, not a person"
    if is_follow_up(prompt) and not workflow_kind(prompt):
        return "the prompt goes on with what is under way, and names no work of its own"
    return ""


def workflow_kind(prompt: str) -> str:
    """Return the kind of multi-step or multi-agent work requested by a prompt; "" for none."""
    text = prompt[:LONGEST]
    return next((kind for kind, pattern in _WORKFLOWS if pattern.search(text)), "")
