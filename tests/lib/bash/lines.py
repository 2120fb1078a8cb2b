"""Random shell lines from a seed: every construct used by agents, with odd quoting, nesting and separators."""

import random

WORDS = (
    "a", "b.txt", "-x", "--long=val", "/etc/passwd", "1", "-", "a=b", "*.py", "~/x", "x#y", "%s", "@", "+x", "{a,b}", "{1..3}",
    "[ab]", "?", "!", "^", "\\;", "{}", ":", "a\\ b", "\\$x", "\\#", "--", "é", "日本", "=", "==", "]", "a!b", "}x", "{x",
    "'s q'", "''", "'a;b'", "'$(no)'", "'#'", "'`'", '"d q"', '""', '"a;b|c&&d"', '"#"', '"\\$(no)"', '"it\'s"', '"a\\"b"',
    "'\"'", "$'a\\nb'", "$'it\\'s'", '$"tr"', '"\n"', "'a\nb'", '"\\`x\\`"', '"\\\\"', "'\\'", '"$"', '"a$"',
)  # fmt: skip
EXPANSIONS = (
    "$x", "${x}", "$1", "$@", '"$@"', '"$x"', "$?", "$#", "${#x}", "${x:-y}", "${x%.*}", "${x##*/}", "${x//a/}", "${a[@]}", "${!x}",
    "${x^^}", "${x:1:2}", "$$", "$!", "${x:?err}", '${x:-"a b"}', "$((1+2))", "$(( x > 1 ))", "$x$y", "$x/y", "a$x", '"a $x b"',
    "${x//\\//_}", '${x#"$y"}', "$-",
)  # fmt: skip
TARGETS = ("f", "/dev/null", '"$f"', "'f g'", "f$x")
CONDITIONS = (
    "[ -f x ]", '[ "$a" = b ]', "[[ -n $x ]]", "[[ $x == *.y && ! -d z ]]", "[[ $x =~ ^a(b|c)$ ]]", "(( x > 1 ))", "test -f y",
    '[ ! -e "$x" ]', '[ -z "$x" -o a = b ]', '[[ "$x" < "$y" ]]', "[ x = --help ]", "[ -x ~/a ]",
)  # fmt: skip
SEPARATORS = (
    " && ",
    " || ",
    " | ",
    "; ",
    "\n",
    " & ",
    " |& ",
    " &&\n",
    " |\n",
    " # note; rm x\n",
    "|",
    "&&",
    ";",
    "\n\n",
)


class Lines:
    """A source of lines; programs are named c1, c2 … so that none can be mistaken for another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (a seed must give the same lines)
        self.count = 0

    def pick(self, *options):
        return self.random.choice(options)

    def name(self):
        self.count += 1
        return f"c{self.count}"

    def substitution(self, depth):
        if self.random.random() < 0.75:
            return f"$({self.pick('', ' ')}{self.script(depth - 1)}{self.pick('', ' ')})"
        return f"`{self.simple(0)}`"

    def word(self, depth):
        chance = self.random.random()
        if depth <= 0 or chance < 0.55:
            return self.pick(*WORDS) if chance < 0.4 or chance > 0.8 else self.pick(*EXPANSIONS)
        inner = self.substitution(depth)
        return self.pick(
            inner,
            f'"{self.pick("", " ", "a ")}{inner}{self.pick("", " ", " z")}"',
            f"${{x:-{inner}}}",
            f'"${{x:-{inner}}}"',
            f"$((1+$({self.simple(0)})))",
            f"{self.pick('<(', '>(')}{self.script(depth - 1)})",
            f"a{inner}b",
            f"${{x/{inner}/b}}",
        )

    def redirection(self, depth):
        kind = self.random.random()
        if kind < 0.5:
            return self.pick(">", ">>", "> ", "2>", "&>", "<", "< ", ">|", "1>", "<> ") + self.pick(*TARGETS)
        if kind < 0.8:
            return self.pick("2>&1", ">&2", "1>&2", "<&0", "2>&-")
        if kind < 0.9 and depth > 0:
            return f"{self.pick('< <(', '> >(', '2> >(')}{self.script(depth - 1)})"
        return f"<<< {self.word(depth - 1)}"

    def assignment(self, depth):
        return self.pick("A", "B_1", "x") + self.pick("=", "=", "+=") + self.pick("", self.word(depth), "1", '"x y"')

    def simple(self, depth):
        parts = [self.assignment(depth) for _ in range(self.pick(0, 0, 0, 0, 1, 2))]
        if parts and self.random.random() < 0.15:
            return " ".join(parts)
        if self.random.random() < 0.05:
            parts.append(self.redirection(depth))
        odd = self.pick('"q c"', "./x.sh", "\\ls", "l's'", "$cmd", "${x}y", "~/b", "git")
        parts.append(self.name() if self.random.random() < 0.95 else odd)
        parts += [self.word(depth) for _ in range(self.pick(0, 1, 1, 2, 3))]
        parts += [self.redirection(depth) for _ in range(self.pick(0, 0, 0, 0, 1, 2))]
        if self.random.random() < 0.05:
            parts.append(self.word(0))
        line = parts[0]
        for part in parts[1:]:
            line += self.pick(" ", " ", " ", " ", "  ", "\t", " \\\n  ") + part
        return line

    def heredoc(self):
        quoted = self.pick("EOF", "'EOF'", '"EOF"', "\\EOF", "E_1")
        strips = self.pick("-", "", "")
        tab = "\t" if strips else ""
        body = (
            "text",
            "rm -rf /",
            "$x",
            "'unbalanced",
            '"',
            "# c",
            "",
            ")",
            "}",
            "\\$(x)",
            "${x:-y}",
            "it's",
            "a;b && c",
            "EOFX",
        )
        more = f"$({self.name()} a)", f"`{self.name()} 'b'`" if "E_1" in quoted else "plain"
        lines = [self.pick(*body, *more) for _ in range(self.pick(0, 1, 2, 3))]
        tails = ("", "", f" | {self.name()} x", f" && {self.name()}", " > out", f"; {self.name()}", " 2>&1")
        head = f"{self.name()}{self.pick('', ' -', ' > f')} <<{strips}{self.pick('', ' ')}{quoted}{self.pick(*tails)}\n"
        return head + "".join(f"{tab}{line}\n" for line in lines) + tab + quoted.strip("'\"\\") + "\n"

    def condition(self, depth):
        command = self.simple(depth - 1)
        return self.pick(*CONDITIONS, command, f"! {command}", f"[[ -n $({command}) ]]", f'[ "$({command})" = x ]')

    def compound(self, depth):
        end = self.pick("; ", "\n", " ;\n")
        body = self.script(depth - 1) + self.pick("; ", "\n")
        condition = self.condition(depth)
        otherwise = self.pick("", f"elif {self.condition(depth)}{end}then {body}", f"else {body}")
        return self.pick(
            f"( {body})",
            f"({self.script(depth - 1)})",
            f"{{ {body}}}",
            f"if {condition}{end}then {body}{otherwise}fi",
            f"for i in {self.word(depth - 1)} b{end}do {body}done",
            f"{self.pick('while', 'until')} {condition}{end}do\n{body}done",
            f"case {self.word(depth - 1)} in {self.pick('a)', 'a|b)', '(*.c)', '[0-9]*)')} {self.script(depth - 1)} ;; *) ;; esac",
            f"{self.pick('f() { ', 'function f { ', 'f () { ')}{body}}}",
            f"for ((i=0; i<3; i++)); do {body}done",
            condition,
            f"while read -r l; do {body}done < <({self.simple(depth - 1)})",
            f"{self.pick('export', 'declare -x', 'local', 'readonly')} {self.assignment(depth)}",
            f"{self.pick('time', '!')} {self.simple(depth - 1)}",
        )

    def script(self, depth):
        if depth <= 0:
            return self.simple(0)
        text = ""
        for index in range(self.pick(1, 1, 1, 2, 2, 3)):
            command = self.compound(depth) if self.random.random() < 0.3 else self.simple(depth)
            text += (self.pick(*SEPARATORS) if index else "") + command
        return text

    def line(self):
        """One line, often of several physical lines."""
        if self.random.random() < 0.15:
            return (
                self.pick("", self.simple(1) + "\n", self.simple(1) + " && ")
                + self.heredoc()
                + self.pick("", self.script(1))
            )
        return self.script(self.pick(0, 1, 1, 2, 2, 3)) + self.pick("", "", "", "\n", " # end", ";", " &")
