"""Variables' values while a line is read, and words with these values filled in."""

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from baton.lib.bash.expansion.words import EXPANSION, KIND, LITERAL, QUOTED, Word

# Pattern expansions of the shell: `${x%.*}`, `${x//a/b}`, `{a,b}`.

MAX_ALTERNATIVES = 64  # maximum values of one variable, and combinations for one command; more are unknown
_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])\Z")
_HIDDEN = str.maketrans("{},", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "{},")


def cut_out(known: str, operator: str, glob: str, put: str) -> str | None:
    """Return a value with a glob's match removed or replaced by `put`: `${x%glob}`, `${x//glob/put}`."""
    pattern = fnmatch.translate(glob).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(")\\z")
    lazy = pattern.replace(".*", ".*?")
    try:
        if operator == "#":
            found = re.match(f"(?s:{lazy})", known)
            return known[found.end() :] if found else known
        if operator == "##":
            found = re.match(f"(?s:{pattern})", known)
            return known[found.end() :] if found else known
        if operator in {"%", "%%"}:
            found = re.match(f"(?s:(.*{'?' if operator == '%%' else ''})(?:{pattern}))\\Z", known)
            return found[1] if found else known
        anchored = {"/#": f"\\A(?s:{pattern})", "/%": f"(?s:{pattern})\\Z"}.get(operator, f"(?s:{pattern})")
        return re.sub(anchored, lambda _: put, known, count=0 if operator == "//" else 1) if glob else known
    except re.error:
        return None


def braces(word: Word) -> list[Word]:
    """Return the words of unquoted brace expansions: `{rm,-rf,/}`, `r{m,}`, `{1..3}`."""
    text = "".join([piece.translate(_HIDDEN) if kind else piece for piece, kind in word.parts])
    done: list[str] = []
    todo = [text]
    while todo:
        here = todo.pop()
        found = next((one for one in _BRACE.finditer(here) if _choices(one[1])), None)
        if found is None:
            done.append(here)
        else:
            todo += [here[: found.start()] + one + here[found.end() :] for one in reversed(_choices(found[1]))]
        if len(todo) + len(done) > MAX_ALTERNATIVES:
            return [word]
    if len(done) == 1:
        return [word]
    made: list[Word] = []
    for one in done:
        made.append(Word(one.translate(_SHOWN)))
        made[-1].parts = [(made[-1].text, (word.dynamic and EXPANSION) or LITERAL)]
        made[-1].dynamic, made[-1].spans, made[-1].outer = word.dynamic, word.spans, word.outer
        made[-1].globs = "*" in one or "?" in one
    return [one for one in made if one.text]


def _choices(body: str) -> list[str]:
    if "," in body:
        return body.split(",")
    found = _RANGE.match(body)
    if found is None or found[1].lstrip("-").isdigit() != found[2].lstrip("-").isdigit() or len(body) > 10:  # noqa: PLR2004
        return []
    if found[1].lstrip("-").isdigit():
        low, high = int(found[1]), int(found[2])
        return [str(one) for one in _between(low, high)]
    return [chr(one) for one in _between(ord(found[1]), ord(found[2]))]


def _between(low: int, high: int) -> Iterator[int]:
    step = 1 if low <= high else -1
    yield from itertools.islice(range(low, high + step, step), MAX_ALTERNATIVES)


_LONGEST = 8_192
_MOST_WORDS = 2_500  # maximum words, and expansions in them, filled in one line
_MOST_LETTERS = 64 * 1024  # maximum characters of values inserted into one line's words
_LONGEST_MATCHED = 500
_MOST_STARS = 3
_DEEPEST = 4
_BLANKS = " \t\n"
# The words of an unknown value. Blanks inside the text of a substitution separate none: `c=$(docker ps -q); f $c`.
_UNREAD = re.compile(r"(?:\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`|\$\{[^{}]*\}|[^ \t\n$`]+|[$`])+")
_NAMES = re.compile(r"\$(?:\{[!#]?)?(\w+|[@*])")
_SIMPLE = re.compile(r"\$(\w+|[@*])\Z")
_BRACED = re.compile(r"\$\{([!#]?)(\w+|[@*])(?:\[([^\]]*)\])?(.*)\}\Z", re.DOTALL)
_DEFAULT = re.compile(r"(:?)([-=+?])(.*)\Z", re.DOTALL)
_SLICE = re.compile(r":\s*\(?(-?\d+)\)?(?::(-?\d+))?\Z")
_IF_SET = re.compile(r"\$\{(\w+):?\+")
_INNER = re.compile(r"\$(?:\w+|[@*]|\{[^{}]*\})")
_ARRAY_ALL = frozenset(["@", "*"])


class Unknown(str):
    """A string with unknown expansions."""

    __slots__ = ()


Value = str | tuple[str, ...]
Alternatives = tuple[Value, ...]  # the possible values of a variable; empty for a variable not set by the line


def as_value(word: Word) -> str:
    """Return a word's value for a variable."""
    return Unknown(word.text) if word.dynamic else word.text


def with_element(before: Alternatives, index: str, values: Alternatives) -> Alternatives:
    """Return an array with one more value; the position is known only for a numeric index."""
    items = [one for one in before if isinstance(one, tuple)][:1] or [()]
    if not index.isdigit() or int(index) > len(items[0]):
        return (Unknown("${…[@]}"),)
    at = int(index)
    return tuple([(*items[0][:at], str(one), *items[0][at + 1 :]) for one in values if isinstance(one, str)])


def appended(before: Alternatives, values: Alternatives) -> Alternatives:
    """Return the values after `+=`."""
    return tuple([_append(old, new) for old in before for new in values][:64])


def _append(old: Value, new: Value) -> Value:
    if isinstance(old, tuple) or isinstance(new, tuple):
        return (
            *(old if isinstance(old, tuple) else (old,) if old else ()),
            *(new if isinstance(new, tuple) else (new,)),
        )
    return Unknown(old + new) if isinstance(old, Unknown) or isinstance(new, Unknown) else old + new


class Values:
    """The variables set by the line, within one shell; a subshell has its own on top of those `above`.

    `args` are the positional parameters, None if unknown. A function call has its own, and passes variables `through`
    to its caller. `doubtful`: only some shells keep these variables. `references` are names of other variables
    (`declare -n`), in the whole line.
    """

    __slots__ = ("_args", "_doubtful", "_known", "_through", "above", "references")

    def __init__(
        self,
        above: "Values | None" = None,
        *,
        args: tuple[str, ...] | None = None,
        through: bool = False,
        doubtful: bool = False,
    ) -> None:
        self.above = above
        self._args = args
        self._known: dict[str, Alternatives] = {}
        self._through = through
        self._doubtful = doubtful
        self.references: dict[str, str] = {} if above is None else above.references

    @property
    def args(self) -> tuple[str, ...] | None:
        """The positional parameters."""
        here: Values | None = self
        while here is not None:
            if here._args is not None:  # noqa: SLF001 (of the same class)
                return here._args  # noqa: SLF001
            here = here.above
        return None

    @args.setter
    def args(self, args: tuple[str, ...]) -> None:
        self._args = args

    def get(self, name: str) -> Alternatives:
        """Return the possible values of a variable."""
        if self.references:
            name = self.references.get(name, name)
        here: Values | None = self
        while here is not None:
            found = here._known.get(name)  # noqa: SLF001 (of the same class)
            if found is not None:
                return found
            here = here.above
        return ()

    def set(self, name: str, values: Alternatives, *, certain: bool = True, local: bool = False) -> None:
        """Set a variable. Unless `certain`, the variable may also keep its old values.

        A `local` one of a called function is unknown to the caller.
        """
        if self.references:
            name = self.references.get(name, name)
        here = self
        certain = certain and not self._doubtful
        while here._through and here.above is not None and not local:
            here = here.above
        if not certain:
            before = self.get(name) or ((Unknown("$HOME"),) if name == "HOME" else ())
            values = tuple(dict.fromkeys((*before, *values)))
        if len(values) > MAX_ALTERNATIVES:
            values = (*values[:MAX_ALTERNATIVES], Unknown(f"${name}"))
        here._known[name] = values  # noqa: SLF001

    def forget(self, name: str) -> None:
        """Note that a variable may have another, unknown value."""
        self.set(name, (Unknown(f"${name}"),), certain=False)


class Filler:
    """Fills values into words.

    `outputs` are the known outputs of substitutions, by their text. `left` and `letters` bound the work. `whole` is
    False if the last command may also have unknown values.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, str] = {}
        self.left = _MOST_WORDS
        self.letters = _MOST_LETTERS
        self.whole = True

    def variants(self, words: list[Word], values: Values) -> list[list[Word]]:
        """Return the command with known values, once per combination of alternatives; [] if there are none."""
        self.left -= len(words)
        if self.left < 0 or self.letters < 0:
            return []
        chosen: list[Mapping[str, Value]] = [{}]
        names = self.names(words)
        if names:
            options = {name: found for name in names if len(found := values.get(name)) > 1}
            # For `${FORCE:+-f}` with an unknown value, both readings count.
            for name in self.names(words, _IF_SET):
                known = values.get(name) or (values.args or () if name.isdigit() else ())
                if name not in options and all(isinstance(one, Unknown) for one in known):
                    options[name] = ("", Unknown(f"${name}"))
            count = 1
            for found in options.values():
                count *= len(found)
            if count > MAX_ALTERNATIVES:
                return []
            if options:
                chosen = [dict(zip(options, one, strict=True)) for one in itertools.product(*options.values())]
        made: list[list[Word]] = []
        for choice in chosen:
            self.left -= len(words)
            if self.left < 0 or self.letters < 0:
                return []
            filling = _Filling(self, values, choice)
            made.append([field for word in words for field in filling.word(word)])
        written = [word.text for word in words]
        # If one of them is the command as written, it must stay listed.
        changed = [one for one in made if one and [word.text for word in one] != written]
        self.whole = len(changed) == len(made)
        return changed

    def text(self, word: Word, values: Values) -> Alternatives:
        """Return the possible values of an unsplit word."""
        if not word.dynamic:
            return (word.text,)
        whole = Word(word.text)
        whole.parts = [(text, kind | QUOTED) for text, kind in word.parts]
        whole.dynamic = True
        found = self.variants([whole], values)
        if not found:
            return (Unknown(word.text),)
        joined = [" ".join([field.text for field in fields]) for fields in found]
        unknown = [any(field.dynamic for field in fields) for fields in found]
        if any(len(text) > _LONGEST for text in joined):
            return (Unknown(word.text[:_LONGEST]),)
        return tuple(dict.fromkeys(Unknown(text) if out else text for text, out in zip(joined, unknown, strict=True)))

    @staticmethod
    def names(words: Iterable[Word], pattern: re.Pattern[str] = _NAMES) -> dict[str, None]:
        """Return the names of the variables in words."""
        return {
            name: None for word in words if word.dynamic for text, _ in word.parts for name in pattern.findall(text)
        }


class _Filling:
    def __init__(self, filler: Filler, values: Values, choice: Mapping[str, Value]) -> None:
        self.filler = filler
        self.values = values
        self.choice = choice

    def word(self, word: Word) -> list[Word]:
        # Braces of a glob may still yield several words, even without a variable.
        if not word.dynamic and not (word.globs and "{" in word.text):
            return [word]
        fields: list[list[tuple[str, int]]] = [[]]
        changed = False
        for text, kind in word.parts:
            value = None if not kind & KIND else self.value(text, quoted=bool(kind & QUOTED))
            if value is None:
                fields[-1].append((text, kind))
                continue
            changed = True
            self.filler.letters -= len(value) if isinstance(value, str) else sum(map(len, value))
            if self.filler.letters < 0:
                return [word]
            self._add(value, fields, quoted=bool(kind & QUOTED))
        if not changed and not word.globs:
            return [word]
        made = [self._field(parts, word) for parts in fields if parts]
        return [one for field in made for one in (braces(field) if field.globs and "{" in field.text else [field])]

    def _add(self, value: Value, fields: list[list[tuple[str, int]]], *, quoted: bool) -> None:
        items = [value] if isinstance(value, str) else list(value)
        for index, item in enumerate(items):
            if index:
                fields.append([])
            kind = EXPANSION if isinstance(item, Unknown) else LITERAL
            if quoted:
                fields[-1].append((item, kind | QUOTED))
                continue
            # A blank at an edge of a value ends the word on that side: with `x=' b'`, `a$x` is two words.
            if item[:1] and item[0] in self.blanks and fields[-1]:
                fields.append([])
            pieces = [piece for piece in re.split(f"[{re.escape(self.blanks)}]+", item) if piece]
            pieces = _UNREAD.findall(item) if kind and self.blanks == _BLANKS else pieces
            for at, piece in enumerate(pieces):
                if at:
                    fields.append([])
                fields[-1].append((piece, kind))
            if item[-1:] and item[-1] in self.blanks and fields[-1]:
                fields.append([])

    @property
    def blanks(self) -> str:
        found = self.values.get("IFS")
        if len(found) != 1 or not isinstance(found[0], str) or isinstance(found[0], Unknown):
            return _BLANKS
        return found[0] or "\0"

    @staticmethod
    def _field(parts: list[tuple[str, int]], source: Word) -> Word:
        made = Word("".join([text for text, _ in parts]))
        made.parts = parts
        made.dynamic = any(kind & KIND for _, kind in parts)
        made.globs = source.globs or any(not kind and ("*" in text or "?" in text) for text, kind in parts)
        if made.dynamic:
            made.spans, made.outer = source.spans, source.outer
        return made

    def value(self, text: str, *, quoted: bool, depth: int = 0) -> Value | None:
        """Return the value of an expansion or substitution; None if unknown."""
        self.filler.left -= 1
        if self.filler.left < 0 or depth > _DEEPEST:
            return None
        if text[:1] == "`" or text[:2] in {"$(", "<("}:
            return self.filler.outputs.get(text)
        simple = _SIMPLE.match(text)
        if simple:
            return self._joined(self._variable(simple[1]), simple[1], quoted=quoted)
        if text == "${!#}":  # the last argument of the script or function
            args = self.values.args
            return self._joined(args[-1] if args else None, text, quoted=quoted)
        found = _BRACED.match(text)
        if found is None:
            return None
        prefix, name, index, rest = found.groups()
        if prefix == "#":
            known = self._variable(name)
            return None if known is None or isinstance(known, Unknown) else str(len(known))
        if prefix == "!":  # `${!x}` is the variable named by `x`
            pointed = self._variable(name)
            is_name = (
                isinstance(pointed, str) and not isinstance(pointed, Unknown) and not rest and pointed.isidentifier()
            )
            if not is_name or self._variable(str(pointed)) is None:
                return Unknown(f"${pointed}") if is_name else None
            name = str(pointed)
        # An element of an associative array is stored under its own name.
        named = self.values.get(f"{name}[{index}]") if index and not index.isdigit() else ()
        known = named[0] if named else self._element(self._variable(name), index, name)
        if rest:
            known = self._operated(known, name, rest, depth)
        return self._joined(known, index or name, quoted=quoted)

    @staticmethod
    def _joined(known: Value | None, which: str, *, quoted: bool) -> Value | None:
        if isinstance(known, tuple) and which not in _ARRAY_ALL:
            return known[0] if known else ""
        if isinstance(known, tuple) and which == "*" and quoted:
            joined = " ".join(known)
            return Unknown(joined) if any(isinstance(one, Unknown) for one in known) else joined
        return known

    def _variable(self, name: str) -> Value | None:
        if name in self.choice:
            return self.choice[name]
        if name in _ARRAY_ALL:
            return self.values.args
        if name.isdigit() and name != "0":
            args = self.values.args
            at = int(name) if len(name) < 3 else 0  # noqa: PLR2004 (a hundred arguments)
            return None if args is None or not at else args[at - 1] if at <= len(args) else ""
        found = self.values.get(name)
        if not found:
            return _BLANKS if name == "IFS" else None
        return found[0]

    @staticmethod
    def _element(known: Value | None, index: str | None, name: str) -> Value | None:
        if index is None or index in _ARRAY_ALL or known is None or isinstance(known, Unknown):
            return known
        items = (known,) if isinstance(known, str) else known
        if not re.fullmatch(r"-?\d{1,4}", index) or not -len(items) <= int(index) < len(items):
            return Unknown(f"${{{name}[{index}]}}")
        return items[int(index)]

    def _operated(self, known: Value | None, name: str, rest: str, depth: int) -> Value | None:
        """Apply the operator after the name: default, cut, replacement, slice, letter case."""
        default = _DEFAULT.match(rest)
        if default:
            return self._default(known, name, default, depth)
        if known is None or isinstance(known, Unknown):
            return None
        cut = _SLICE.match(rest)
        if cut:
            start, length = int(cut[1]), None if cut[2] is None else int(cut[2])
            if isinstance(known, tuple) and name in _ARRAY_ALL:
                # `${@:1}` starts at the first argument, `${@:0}` at the script's name, which is not in `args`.
                start = max(0, start - 1) if start >= 0 else start
            end = None if length is None else length if length < 0 else start + length
            return known[start:end] if start >= 0 else known[start:][: length if length is not None else None]
        if isinstance(known, tuple):
            return None
        if len(known) > _LONGEST_MATCHED:
            return None
        return self._changed(known, rest, depth)

    def _default(self, known: Value | None, name: str, default: re.Match[str], depth: int) -> Value | None:
        colon, operator, operand = default.groups()
        is_set = known is not None and (not colon or known != "")
        if operator == "+":
            return self._plain(operand, depth) if is_set else ""
        if is_set or operator == "?":
            return known
        found = self._plain(operand, depth)
        if operator == "=" and isinstance(found, str):
            self.values.set(name, (found,))
        return found

    def _changed(self, known: str, rest: str, depth: int) -> str | None:
        if rest in {"^^", ",,", "^", ",", "@U", "@L", "@u"}:
            lower = rest[0] == "," or rest == "@L"
            whole = rest in {"^^", ",,", "@U", "@L"}
            head = known if whole else known[:1]
            return (head.lower() if lower else head.upper()) + known[len(head) :]
        operator = next((one for one in ("##", "%%", "//", "/#", "/%", "#", "%", "/") if rest.startswith(one)), "")
        if not operator:
            return None
        body = rest[len(operator) :]
        wanted, _, instead = body.partition("/") if operator[0] == "/" else (body, "", "")
        glob, put = self._plain(wanted, depth), self._plain(instead, depth) if instead else ""
        if not isinstance(glob, str) or isinstance(glob, Unknown) or glob.count("*") > _MOST_STARS or put is None:
            return None
        return cut_out(known, operator, glob, str(put))

    def _plain(self, text: str, depth: int) -> str | None:
        """Return an operand with quotes removed and known variables filled in."""
        if "`" in text or "$(" in text:
            return None
        if text[:1] in {"'", '"'} and text[-1:] == text[:1] and len(text) > 1:
            text = text[1:-1]
        if "$" not in text:
            return text.replace('"', "").replace("'", "").replace("\\", "")

        def put(found: re.Match[str]) -> str:
            value = self.value(found[0], quoted=True, depth=depth + 1)
            return found[0] if value is None else value if isinstance(value, str) else " ".join(value)

        made = _INNER.sub(put, text)[:_LONGEST].replace('"', "")
        return Unknown(made) if "$" in made else made
