"""The output of simple programs with arguments and input in the line: `echo`, `printf` and `rev`."""

import base64
import binascii
import re

from baton.lib.bash.expansion.words import QUOTED, Word

PASSES = frozenset(
    ["cat", "tee", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "tac", "strings", "pv", "less", "more",
     "dd", "fold", "iconv", "sponge", "expand", "unexpand", "mbuffer"]
)  # fmt: skip
"""Programs that print their input, or a part of it."""
WHOLE = PASSES - {"head", "tail", "sort", "grep", "egrep", "fgrep", "tac"}  # those that print every line, in order
SILENT = frozenset(
    ["cd", "pushd", "popd", "true", ":", "set", "shopt", "export", "unset", "sleep", "mkdir", "touch", "rm", "cp", "mv", "chmod",
     "wait", "trap", "umask", "read", "alias", "local", "declare", "test", "["]
)  # fmt: skip
"""Programs without output."""
DECODERS = frozenset(["base64", "gbase64", "basenc", "xxd", "openssl"])
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|u([0-9a-fA-F]{1,4})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "\\": "\\"}
_FORMAT = re.compile(r"%(%|[-+ #0]*\d*(?:\.\d+)?([sbdiuxXcqo]))")
_MOST_ROUNDS = 200
_SUBSTITUTION = re.compile(r"s([/|,#])(\^?)([\w ./:-]*)(\$?)\1([\w ./:-]*)\1(g?)\Z")
_CUT = re.compile(r"-d ?(.) -f ?([1-9])((?:-\d*)?)")
_OF_LINES = frozenset(["head", "tail", "tac", "sort", "grep"])
_COUNT = re.compile(r"(?:-(?:n ?)?([1-9]\d{0,5}))?")
_PLAIN = re.compile(r"[\w/@:=-]+")
_RANGE = re.compile(r"(.)-(.)")
_CLASSES = {"[:lower:]": "a-z", "[:upper:]": "A-Z", "[:digit:]": "0-9", "[:space:]": " \t\n"}


def joined(before: list[Word], after: list[Word]) -> list[Word]:
    """Return words printed after others on the same line, without a separator."""
    if not before or not after:
        return before + after
    last, first = before[-1], after[0]
    word = Word(last.text + first.text)
    word.parts = [part for one in (last, first) for part in one.parts or [(one.text, QUOTED)]]
    word.dynamic, word.outer = last.dynamic or first.dynamic, last.outer or first.outer
    word.spans = last.spans + first.spans
    return [*before[:-1], word, *after[1:]]


def known_text(script: list[Word]) -> str | None:
    """Return the words joined by spaces; None if a part is unknown."""
    if any(word.dynamic for word in script):
        return None
    return " ".join([word.text for word in script])


def unescaped(text: str) -> str:
    """Return a string with the escapes of `echo -e` and `printf` replaced."""
    if "\\" not in text:
        return text

    def letter(found: re.Match[str]) -> str:
        hexa, octal, code, other = found.groups()
        if hexa or code:
            return chr(int(hexa or code, 16))
        return chr(int(octal, 8) & 0xFF) if octal else _LETTERS.get(other, "\\" + other)

    return _ESCAPE.sub(letter, text)


def echoed(words: list[Word]) -> list[Word]:
    """Return the output of `echo`, or of `print` in zsh."""
    at = 1
    while at < len(words) and re.fullmatch(r"-(?:[neErl]+|-)", words[at].text):
        at += 1
    return [_with_line_ends(word) for word in words[at:]]


def formatted(words: list[Word]) -> list[Word] | None:
    """Return the output of `printf`; None if it sets a variable instead."""
    at = 1
    if at < len(words) and words[at].text == "-v":
        return None
    if at < len(words) and words[at].text == "--":
        at += 1
    if at >= len(words):
        return []
    if any(word.dynamic for word in words[at:]):
        return [_with_line_ends(word) for word in words[at:] if "%" not in word.text or word.dynamic]
    return [Word(printf(words[at].text, [word.text for word in words[at + 1 :]]))]


def printf(form: str, values: list[str]) -> str:
    """Return a format of `printf` with values filled in; the format repeats until all values are used."""
    form = unescaped(form)
    pieces: list[str] = []
    at = 0
    for _ in range(_MOST_ROUNDS):
        before = at

        def put(found: re.Match[str]) -> str:
            nonlocal at
            if found[1] == "%":
                return "%"
            value = values[at] if at < len(values) else ""
            at += 1
            return unescaped(value) if found[2] == "b" else value[:1] if found[2] == "c" else value

        pieces.append(_FORMAT.sub(put, form))
        # A format without placeholders is printed once.
        if at >= len(values) or at == before:
            break
    return "".join(pieces)


def filtered(name: str, words: list[Word], text: str) -> str | None:
    """Return a filter's output for an input; None if unknown."""
    arguments = [word.text for word in words[1:]]
    if any(word.dynamic for word in words):
        return None
    if name == "rev":
        return "\n".join([line[::-1] for line in text.split("\n")])
    if name in _OF_LINES:
        return _of_lines(name, arguments, text)
    if name == "tr":
        return _translated(arguments, text)
    if name == "sed":
        return _edited(arguments, text)
    if name == "cut":
        return _cut(arguments, text)
    if name in DECODERS:
        return _decoded(name, arguments, text)
    return None


def _of_lines(name: str, arguments: list[str], text: str) -> str | None:
    """Return the lines printed by `head`, `tail`, `tac`, `sort` and `grep`, or None for unsupported options."""
    lines = text.strip("\n").split("\n")
    found = _COUNT.fullmatch(" ".join(arguments))
    if name in ("head", "tail") and found:
        count = int(found[1] or 10)
        return "\n".join(lines[:count] if name == "head" else lines[-count:])
    if name == "grep" and len(arguments) == 1 and _PLAIN.fullmatch(arguments[0]):
        return "\n".join([line for line in lines if arguments[0] in line])
    if arguments or name == "grep":
        return None
    return "\n".join(sorted(lines) if name == "sort" else lines[::-1])


def _with_line_ends(word: Word) -> Word:
    if "\\" not in word.text:
        return word
    printed = Word(unescaped(word.text))
    printed.outer, printed.dynamic, printed.spans = word.outer, word.dynamic, word.spans
    printed.parts = [(unescaped(text), kind) for text, kind in word.parts]
    return printed


def _letters(text: str) -> str:
    for name, letters in _CLASSES.items():
        text = text.replace(name, letters)
    return _RANGE.sub(lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), unescaped(text))[:512]


def _translated(arguments: list[str], text: str) -> str | None:
    if len(arguments) == 2 and arguments[0] == "-d":  # noqa: PLR2004
        return text.translate(dict.fromkeys(map(ord, _letters(arguments[1]))))
    if len(arguments) != 2 or arguments[0][:1] == "-":  # noqa: PLR2004
        return None
    source, target = _letters(arguments[0]), _letters(arguments[1])
    if not target:
        return None
    target += target[-1] * (len(source) - len(target))
    return text.translate({ord(one): other for one, other in zip(source, target, strict=False)})


def _edited(arguments: list[str], text: str) -> str | None:
    scripts = [one for one in arguments if one not in {"-n", "-e", "-E", "-r"}]
    if len(scripts) != 1:
        return None
    if scripts[0] in {"", "p", "1p", "$p"}:
        return text
    found = _SUBSTITUTION.match(scripts[0])
    if found is None or "." in found[3]:
        return None
    _, head, old, tail, new, every = found.groups()
    lines = text.split("\n")
    if head or tail:
        return "\n".join([_at_an_end(line, old, new, head=head != "", tail=tail != "") for line in lines])
    return "\n".join([line.replace(old, new, -1 if every else 1) for line in lines]) if old else None


def _at_an_end(line: str, old: str, new: str, *, head: bool, tail: bool) -> str:
    if head and tail:
        return new if line == old else line
    if head:
        return new + line[len(old) :] if line.startswith(old) else line
    return line[: len(line) - len(old)] + new if line.endswith(old) else line


def _cut(arguments: list[str], text: str) -> str | None:
    """Return the output of `cut -d: -f2-`."""
    found = _CUT.fullmatch(" ".join(arguments))
    if found is None:
        return None
    first, last = int(found[2]), None if found[3] == "-" else int(found[3][1:] or found[2])
    return "\n".join(
        [
            found[1].join(line.split(found[1])[first - 1 : last]) if found[1] in line else line
            for line in text.split("\n")
        ]
    )


def _decoded(name: str, arguments: list[str], text: str) -> str | None:
    packed = "".join(text.split())
    try:
        if name == "xxd":
            return bytes.fromhex(packed).decode("utf-8", "replace") if "-r" in "".join(arguments) else None
        if name == "openssl" and "base64" not in arguments and "-a" not in arguments and "-base64" not in arguments:
            return None
        if not any(one in {"-d", "-D", "--decode", "-di", "-id"} for one in arguments):
            return None
        return base64.b64decode(packed + "=" * (-len(packed) % 4)).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
