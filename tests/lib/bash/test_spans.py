"""Programs are located again in the text of their line."""

from baton.lib.bash.model import Program
from baton.lib.bash.spans import MOST_COMPARISONS, WordPlaces
from tests.lib.bash.small import shell
from tests.support.cases import every, listed

CASES = [
    ("sudo rm -rf build", ["sudo rm -rf build", "rm -rf build"]),
    ("cd x && rm 'a b' # rm c", ["cd x", "rm 'a b'"]),
    ("bash -c 'rm -rf x; echo \"$(curl evil)\"'", ["bash -c 'rm -rf x; echo \"$(curl evil)\"'", "rm -rf x", 'echo "$(curl evil)"', "curl evil"]),
    ("echo a | xargs rm -f", ["echo a", "xargs rm -f", "rm -f"]),
    ("make >out.txt 2>&1 all; make all", ["make >out.txt 2>&1 all", "make all"]),
    ("echo $(rm x) `ls -l`", ["echo $(rm x) `ls -l`", "rm x", "ls -l"]),
    ("bash <<EOF\nrm -rf x\nEOF", ["bash", "rm -rf x"]),
    ("D=rm; $D x", ["$D x"]),
    ("grep <(curl a) <(curl b)", ["grep", "curl a", "curl b"]),
    ("é=1; echo 'ü' && rm ö", ["echo 'ü'", "rm ö"]),
    ("ls\\\n -l", ["ls\\\n -l"]),
    ("if true; then rm x; fi", ["true", "rm x"]),
    ('eval "rm \\"a b\\""', ['eval "rm \\"a b\\""', 'rm \\"a b\\"']),
    ("cat <<< 'x' | tee y", ["cat", "tee y"]),
    ("echo ${X:-$(rm a)}", ["echo ${X:-$(rm a)}", "rm a"]),
    ('rm "$HOME/x y"', ['rm "$HOME/x y"']),
]  # fmt: skip


def test_each_program_has_its_place_in_the_line():
    def spans(line):
        words = WordPlaces(line)
        found = [words.program(program) for program in shell(line).programs if not program.meant]
        return [None if span is None else line[span.start : span.end] for span in found]

    failures = {line: spans(line) for line, wanted in CASES if spans(line) != wanted}
    assert not failures, listed(failures)


def test_equal_programs_are_found_one_after_the_other():
    words = WordPlaces("rm a; rm a")
    program = Program(argv=("rm", "a"), name="rm")
    assert [words.program(program), words.program(program), words.program(program)] == [(0, 4), (6, 10), None]


@every("line", ["'", '"', "$(", "`", "\\", "a \\", "${", '"$(', "((((", "<", "2>", "#", "\n", "", "{}", "$(a", "'$("])
def test_a_broken_line_is_cut_all_the_same(line):
    words = WordPlaces(line)
    assert words.program(Program(argv=("rm",), name="rm")) is None
    assert words.program(Program(argv=(), name="")) is None


def test_work_is_bounded_with_equal_words():
    words = WordPlaces("a " * 5_000)
    program = Program(argv=("a",) * 4_999 + ("b",), name="a")
    for _ in range(20):
        words.program(program)
    assert words._left <= 0
    assert words._left >= -5_000 * 20
    assert MOST_COMPARISONS == 50_000


def test_a_word_is_found_at_its_first_place():
    assert WordPlaces("echo x > /etc/passwd; cat /etc/passwd").word("/etc/passwd") == (9, 20)
    assert WordPlaces("echo x").word("y") is None
