"""Makes scripts moving values by all means of bash until a program runs with them: `test_flows.py` runs them."""

import random
from collections.abc import Callable, Iterator

WORDS = ("rm", "-rf", "/", "ls", "aa", "x.y", "b")
PROGRAMS = ("rm", "aa")
"""The programs that a flow may run; in the test they write down their arguments and do nothing."""


class Flows:
    """Makes one script. `names` are the variables that have been set, `arrays` the arrays, with the text that each holds."""

    def __init__(self, seed: int) -> None:
        self.rnd = random.Random(seed)  # noqa: S311 - not for secrets
        self.count = 0
        self.names: dict[str, str] = {}
        self.arrays: dict[str, list[str]] = {}
        self.args: list[str] = []
        self.waiting: list[str] = []

    def script(self) -> str:
        """Return a script of two to six statements."""
        return "\n".join([self.statement() for _ in range(self.rnd.randint(1, 5))] + [self.use()])

    def name(self) -> str:
        """Return a name that is new, or now and then one that is set again."""
        if self.names and self.rnd.random() < 0.25:
            return self.rnd.choice(list(self.names))
        self.count += 1
        return f"v{self.count}"

    def word(self) -> str:
        """Return a word of a command, often one of a removal."""
        return self.rnd.choice(WORDS)

    def statement(self) -> str:
        """Return a statement that sets something, or runs a program in a way of its own."""
        return self.rnd.choice(_STATEMENTS)(self)

    def use(self) -> str:
        """Return a command of up to four words."""
        length = self.rnd.choice((1, 2, 3, 3, 3))
        wanted = (
            ["rm", "-rf", "/"][:length]
            if self.rnd.random() < 0.6
            else [self.rnd.choice(PROGRAMS), *[self.word() for _ in range(length)]]
        )
        return " ".join([self.value(one) for one in wanted])

    def value(self, text: str) -> str:
        """Return an expression whose value is a text."""
        return self.rnd.choice(_VALUES)(self, text)

    def held(self, text: str) -> str | None:
        """Return a variable that holds a text."""
        found = [name for name, value in self.names.items() if value == text]
        return self.rnd.choice(found) if found else None


def _literal(_flow: Flows, text: str) -> str:
    return text


def _quoted(flow: Flows, text: str) -> str:
    return flow.rnd.choice((f"'{text}'", f'"{text}"', f"{text[:1]}''{text[1:]}", f"$'{text}'", f"\\{text}"))


def _variable(flow: Flows, text: str) -> str:
    name = flow.held(text)
    if name is None:
        return text
    return flow.rnd.choice(
        (f"${name}", f'"${name}"', f"${{{name}}}", f"${{{name}:-b}}", f"${{{name}:+{text}}}", f'"${{{name}}}"')
    )


def _default(flow: Flows, text: str) -> str:
    return flow.rnd.choice((f"${{none:-{text}}}", f"${{none-{text}}}", f'"${{none:-{text}}}"', f"${{none:={text}}}"))


def _output(flow: Flows, text: str) -> str:
    return flow.rnd.choice(
        (f"$(echo {text})", f'"$(printf %s {text})"', f"`echo {text}`", f"$(printf '%s%s' '{text[:1]}' '{text[1:]}')",
         f"$(cat <<< '{text}')", f"$(echo '{text[::-1]}' | rev)", f"$(printf '%b' '{text}')", f"$(echo 'q {text}' | cut -d' ' -f2)",
         f"$(echo q{text} | sed 's/^q//')", f"$(tr _ {text[:1]} <<< '_{text[1:]}')" if text[:1] != "-" else text,
         f"$(sed 's/q//' <<< 'q{text}')", f"$(echo '{text}' | head -n 1)", f"$(w='{text}'; echo \"$w\")", f"$(if true; then echo {text}; fi)",
         f"$(echo {text} | {{ read r; echo $r; }})", f"$({{ echo {text}; }})", f"$( (echo {text}) | cat)")
    )  # fmt: skip


def _element(flow: Flows, text: str) -> str:
    for name, items in flow.arrays.items():
        if text in items:
            at = items.index(text)
            back = at - len(items)
            return flow.rnd.choice(
                (
                    f"${{{name}[{at}]}}",
                    f'"${{{name}[{at}]}}"',
                    f"${{{name}[@]:{at}:1}}",
                    f"${{{name}[{back}]}}",
                    f"${{{name}[{at}]:-b}}",
                )
            )
    return text


def _argument(flow: Flows, text: str) -> str:
    if text not in flow.args:
        return text
    at = flow.args.index(text) + 1
    return flow.rnd.choice((f"${at}", f'"${{{at}}}"', f"${{@:{at}:1}}", f"${{{at}:-b}}"))


def _changed(flow: Flows, text: str) -> str:
    flow.count += 1
    name = f"v{flow.count}"
    made, back = flow.rnd.choice(
        (
            (f"{text}.q", f"${{{name}%.q}}"), (f"q.{text}", f"${{{name}#q.}}"), (f"q.q.{text}", f"${{{name}##*.}}"),
            (f"{text}.q.q", f"${{{name}%%.q*}}"), (f"q{text}", f"${{{name}:1}}"), (f"q{text}q", f"${{{name}:1:{len(text)}}}"),
            (f"q{text}", f"${{{name}/q/}}"), (f"{text}qq", f"${{{name}//q/}}"), (f"q{text}", f"${{{name}/#q}}"), (f"{text}q", f"${{{name}/%q/}}"),
            (f"qq{text}", f"${{{name}: -{len(text)}}}"), (text.upper(), f"${{{name},,}}"), (f"{text}q", f"${{{name}:0:{len(text)}}}"),
            (f"{text}q", f"${{{name}%?}}"), (f"q{text}", f"${{{name}#[pq]}}"), (f"{text}:q", f"${{{name}%%:*}}"),
        )
    )  # fmt: skip
    return f"$({name}='{made}'; echo {back})" if flow.rnd.random() < 0.3 else _set(flow, name, made, back)


def _set(flow: Flows, name: str, made: str, back: str) -> str:
    flow.waiting.append(f"{name}='{made}'")
    return back


_VALUES: tuple[Callable[[Flows, str], str], ...] = (
    _literal, _literal, _quoted, _variable, _variable, _variable, _default, _output, _element, _element, _argument, _argument, _changed,
)  # fmt: skip


def _assign(flow: Flows) -> str:
    name, text = flow.name(), flow.word()
    value = flow.value(text)
    flow.names[name] = text
    return flow.rnd.choice(
        (f"{name}={value}", f'{name}="{text}"', f"export {name}={text}", f"declare {name}={text}", f"readonly_={text}; {name}=$readonly_",
         f"read -r {name} <<< {text}", f"printf -v {name} %s {value}", f": ${{{name}:={text}}}" if name not in flow.names else f"{name}={text}",
         f"{{ {name}={text}; }}", f"if true; then {name}={value}; fi", f"{name}=b; {name}={text}", f"eval {name}={text}", f"eval '{name}={text}'",
         f"IFS=: read -r {name} rest <<< '{text}:q'", f"read -r {name} <<E\n{text}\nE", f"{name}={text[:1]}; {name}+={text[1:]}", f"true && {name}={value}",
         f"false || {name}={value}", f"{name}=$(echo {text})", f"case {text} in {text}) {name}={text};; *) {name}=b;; esac",
         f"for {name} in b {text}; do :; done", f"for i in 1 2 3; do {name}={text}; done", f"g{flow.count}() {{ {name}={text}; }}; g{flow.count}",
         f"read -r {name} < <(echo {text})", f"i=0; while [ $i -lt 2 ]; do i=$((i+1)); {name}={text}; done", f"typeset {name}={text}",
         f"{name}=b; unset {name}; {name}={text}", f"[[ b == b ]] && {name}={text}", f"ref={name}; printf -v $ref %s {text}",
         f"export {name}; {name}={text}", f"until {name}={text}; do :; done", f"{name}={text} && true", f"(( 1 )) && {name}={text}",
         f"shopt -s lastpipe; echo {text} | read -r {name}", f"q={text}; {name}=$q; q=b", f"{name}='{text} '; {name}=${{{name}% }}",
         f"declare -n link={name}; link={text}; unset -n link", f"IFS=, read -ra list <<< b,{text}; {name}=${{list[1]}}")
    )  # fmt: skip


def _array(flow: Flows) -> str:
    flow.count += 1
    name, items = f"a{flow.count}", [flow.word() for _ in range(flow.rnd.randint(1, 3))]
    if flow.rnd.random() < 0.5:
        items = ["rm", "-rf", "/"]
    flow.arrays[name] = items
    text = " ".join(items)
    lines, escaped = "\n".join(items), "\\n".join(items)
    use = flow.rnd.choice(
        ("", f'; "${{{name}[@]}}"', f"; ${{{name}[*]}}", f"; ${{{name}[@]}}", f'; "${{{name}[0]}}" "${{{name}[@]:1}}"')
    )
    return flow.rnd.choice(
        (f"{name}=({text})", f"{name}=(); {name}+=({text})", f"declare -a {name}=({text})", f"mapfile -t {name} <<E\n{lines}\nE\n:",
         f"read -ra {name} <<< '{text}'", f"IFS=: read -ra {name} <<< '{':'.join(items)}'", f"{name}=($(echo {text}))", f"mapfile -t {name} < <(printf '%s\\n' {text})",
         "; ".join([f"{name}[{at}]={item}" for at, item in enumerate(items)]), f"{name}=({items[0]}); {name}+=({' '.join(items[1:])})", f"readarray -t {name} <<< $'{escaped}'",
         f"{name}=({' '.join([f'[{at}]={item}' for at, item in enumerate(items)])})", f"for i in {text}; do {name}+=($i); done", f'old=({text}); {name}=("${{old[@]}}")')
    ) + use  # fmt: skip


def _positional(flow: Flows) -> str:
    items = ["rm", "-rf", "/"] if flow.rnd.random() < 0.6 else [flow.word() for _ in range(3)]
    flow.args = items
    text = " ".join(items)
    use = flow.rnd.choice(("", '; "$@"', "; $*", "; $1 $2 $3", '; "$1" "${@:2}"'))
    return (
        flow.rnd.choice(
            (
                f"set -- {text}",
                f"set -- b {text}; shift",
                f"set -- b b {text}; shift 2",
                f"set -- $(echo {text})",
                f'set -- {items[0]}; set -- "$@" {" ".join(items[1:])}',
            )
        )
        + use
    )


def _runs(flow: Flows) -> str:
    items = ["rm", "-rf", "/"] if flow.rnd.random() < 0.7 else [flow.rnd.choice(PROGRAMS), flow.word(), flow.word()]
    one, two, three = items
    text = " ".join(items)
    flow.count += 1
    number = flow.count
    return flow.rnd.choice(
        (f'f{number}() {{ "$@"; }}; f{number} {text}', f"f{number}() {{ $1 $2 $3; }}; f{number} {text}", f'f{number}() {{ local x=$1; shift; $x "$@"; }}; f{number} {text}',
         f"f{number}() {{ {one} {two} $1; }}; f{number} {three}", f'f{number}() {{ for i in "$@"; do {one} {two} $i; done; }}; f{number} b {three}',
         f'f{number}() {{ h{number} "$@"; }}; h{number}() {{ {one} "$@"; }}; f{number} {two} {three}', f"f{number}() {{ echo {one}; }}; $(f{number}) {two} {three}",
         f"for p in ls {one}; do $p {two} {three}; done", f"for p in {three}; do {one} {two} $p; done", f"for p; do :; done; for p in '{text}'; do $p; done",
         f"while read -r l; do $l; done <<< '{text}'", f"while read -r l; do $l; done <<E\n{text}\nE", f"echo '{text}' | while read -r l; do $l; done",
         f"printf '%s\\n' b {three} | while read -r l; do {one} {two} $l; done", f"while read -r p q; do $p {two} $q; done <<< '{one} {three}'",
         f"eval '{text}'", f"eval {one} {two} {three}", f"e='{text}'; eval \"$e\"", f"e='{text}'; $e", f"bash -c '{text}'", f"bash -c '$0 $1 $2' {text}",
         f"bash -c '\"$@\"' _ {text}", f"bash -s {two} {three} <<'E'\n{one} $1 $2\nE", f"bash <<E\n{text}\nE", f"bash <<< '{text}'", f"echo '{text}' | bash",
         f"echo '{text}' > s{number}; bash s{number}", f"echo '{text}' > s{number}; . ./s{number}", f"cat > s{number} <<E\n{text}\nE\nsh s{number}", f"source /dev/stdin <<< '{text}'",
         f"source <(echo '{text}')", f"echo {two} {three} | xargs {one}", f"echo {three} | xargs -I% {one} {two} %", f"xargs {one} <<< '{two} {three}'", f"echo {text} | xargs env",
         f"export e{number}={three}; bash -c '{one} {two} $e{number}'", f"e{number}={three} bash -c '{one} {two} $e{number}'", f"env e={three} sh -c '{one} {two} $e'",
         f"case {one} in {one[:1]}*) {text};; esac", f"case b in a) :;; b) {text};; esac", f"trap '{text}' EXIT", f"({text})", f"{{ {text}; }} > out", f"{text} & wait", f"! {text}",
         f"time {text}", f"command {text}", f"exec 3> out; {text} >&3", f"coproc {text}; wait", f"if {text}; then :; fi", f"[ b ] && {text} || :", f"x=$({text})", f"x=`{text}`", f"ls <({text})",
         f"p={one}; q={three}; ${{p}} {two} ${{q}}", f"p='{one} {two}'; $p {three}", f"p={one},{two},{three}; IFS=,; $p; unset IFS", f"p='{three}'; {one} {two} \"${{p}}\"",
         f'p=({text}); for i in ${{!p[@]}}; do :; done; "${{p[@]}}"', f"declare -A m=([k]={three}); {one} {two} ${{m[k]}}", f"declare -A m; m[k]={one}; ${{m[k]}} {two} {three}",
         f"p=q{number}; q{number}={three}; {one} {two} ${{!p}}", f"p=b; f{number}() {{ p={three}; }}; f{number}; {one} {two} $p", f"p={three}; (p=b); {one} {two} $p",
         f"p={three}; f{number}() {{ local p=b; }}; f{number}; {one} {two} $p", f"p={three}; echo b | read -r p; {one} {two} $p", f"p={three}; p=b ls; {one} {two} $p", f"p={three}; for i in 1; do {one} {two} $p; done",
         f"p=b; if false; then p=x; else p={three}; fi; {one} {two} $p", f"p={three}; if false; then p=b; fi; {one} {two} $p", f"p={three}; true || p=b; {one} {two} $p", f"p={three}; case b in a) p=b;; esac; {one} {two} $p",
         f"p={three}; while false; do p=b; done; {one} {two} $p", f"p={three}; false && p=b; {one} {two} $p", f"p={three}; unset q; {one} {two} $p$q", f"p=b; p={three}; {one} {two} $p",
         f"i=0; for p in b {three} ls; do i=$((i+1)); [ $i = 2 ] && break; done; {one} {two} $p", f"{one} {two} {{{three},b}}", f"b=; $b{{{one},{two},{three}}}", f"{one[:1]}{{{one[1:]},}} {two} {three}",
         f"p=$(cat <<E\n{three}\nE\n); {one} {two} $p", f"p=$(printf '%s\\n' b {three} | tail -n 1); {one} {two} $p", f"p=$(printf '%s ' {one} {two}); $p {three}",
         f"printf -v p '%s %s' {one} {two}; $p {three}", f"printf '%s %s %s\\n' {text} | bash", f"printf '%s\\n' '{text}' > s{number}; while read -r l; do $l; done < s{number}", f"p=$(< s0) q={three}; {one} {two} $q",
         f"echo {three} > s{number}; {one} {two} $(cat s{number})", f"echo {three} > s{number}; {one} {two} $(< s{number})", f"echo {three} > s{number}; read -r p < s{number}; {one} {two} $p", f"echo {three} | tee s{number} > out; {one} {two} `cat s{number}`",
         f'f{number}() {{ if [ $# -gt 0 ]; then p=$1; shift; f{number} "$@"; fi; }}; f{number} b {three}; {one} {two} $p', f"f{number}() {{ local -n o=$1; o={three}; }}; f{number} p; {one} {two} $p",
         f"while [ $# -gt 0 ]; do shift; done; set -- {three}; {one} {two} $1", f"set -- -x {three}; while getopts x: o; do {one} {two} $OPTARG; done", f'set -- {text}; f{number}() {{ ls; }}; f{number} b; "$@"',
         f"set -- {three}; for i do {one} {two} $i; done", f"set -- b {three}; {one} {two} ${{!#}}", f"set -- b {three}; {one} {two} ${{@: -1}}", f"select p in {three}; do {one} {two} $p; break; done <<E\n1\nE")
    )  # fmt: skip


_STATEMENTS: tuple[Callable[[Flows], str], ...] = (_assign, _assign, _array, _positional, _runs, _runs, _runs)


def scripts(seed: int) -> Iterator[str]:
    """Yield scripts without end."""
    while True:
        flow = Flows(seed)
        text = flow.script()  # fills `waiting`
        yield "\n".join([*flow.waiting, text])
        seed += 1
