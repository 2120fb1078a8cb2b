"""Misreadings of tree-sitter-bash alone: listed correctly here, or refused with a reason."""

import subprocess
import sys

import pytest
import tree_sitter_bash
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language, Parser

from baton.lib.bash.misreadings import MAX_BYTES
from tests.lib.bash.small import shell
from tests.support.cases import every

PARSER = Parser(Language(tree_sitter_bash.language()))

MENDED = [
    ("a | b | c\npytest && d", "a / b / c / pytest / d"),
    ("r\\\nm x", "rm x"),
    ("ls\n\\rm x", "ls / rm x"),
    ("a\\\n 2>f b", "a b"),
    ("x=1\\\n  y=2 rm z", "rm z"),
    ("A=\\\n rm x", "rm x"),
    ("A=\t\trm x", "rm x"),
    ("A=1 B=2 # note\nrm x", "rm x"),
    ("a >f # note\nrm x", "a / rm x"),
    ("a b`rm x`c", "a b$(rm x)c / rm x"),
    ('a "${x:-`rm x`}"', "a ${x:-$(rm x)} / rm x"),
    ("x=$PWD/$1 rm y", "rm y"),
    ("cat - <<E\nE\nrm x", "cat - / rm x"),
    ("cat <<E\n`rm x`\nE", "rm x / cat"),
    ("cat <<A && foo | rm x\nb\nA", "cat / foo / rm x"),
    ("echo a > f b c", "echo a b c"),
    ("A=1 >f rm x", "rm x"),
    ("time { rm x; }", "rm x"),
    ("[ $x = ~/a ] || rm y", "[ $x = ~/a ] / rm y"),
    ("a == b; rm x", "a == b / rm x"),
    ("bash > f <<< 'rm x'; ls", "bash / rm x / ls"),
    ('cat >&2 <<< "$x" && ls', "cat / ls"),
    ("echo a <> f; ls", "echo a / ls"),
    ("echo a\\\n#; rm x", "echo a# / rm x"),
    ("! { rm a; } && b", "rm a / b"),
    ("if ! { rm a; }; then b; fi", "rm a / b"),
    ("a 'b'/$c/d && rm e", "a b/${c}/d / rm e"),
    ("a b \\\n# c; rm x\nrm y", "a b / rm y"),
    ("a\\ \\\n#; rm y", "a # / rm y"),
]

# What the texts of such mends could hide, were they taken for more than they are.
NOT_HIDDEN = [
    "echo \\${{ a; rm x; }} 'b",
    "echo \\${{ ; rm x ; }}",
    "echo $${{ ; rm x ; }}",
    "# ${{ a\nrm x }}; ]] $^ b",
    "echo '${{ ' ; rm x ; ' }}' $^ b",
    "cat <<A <<E; rm x\nE\nA\nE\n",
    'cat <<A "\n" <<E; rm x\nE\nA\nE\n',
    "cat <<E && \\\n\\rm x\nE",
    "cat <<'X'\na <<E; b\nX\nrm x\nE\n[ \\( a \\) ]",
    "# a <<E; b\nrm x\nE\n[ \\( a \\) ]",
    "# a <<E \\\n\\rm x\nE\n[ \\( a \\) ]",
]


@every("line", NOT_HIDDEN)
def test_a_repaired_line_hides_nothing(line):
    read = shell(line)
    assert read.unparsed or ("rm", "x") in [program.argv[:2] for program in read.programs]


# Forms of valid bash, and of workflow files, in which the parser finds errors.
LACKING = [
    ("a - <<'E' 2>&1 | rm y\nx\nE\nb", "a - / rm y / b"),
    ("a <<E >f 2>/dev/null && rm y\nx\nE", "a / rm y"),
    ("a <<'E'; rm y\nx\nE\nb", "a / rm y / b"),
    ("a <<-E 2>&1; rm y | c 'd;'\n\tx\n\tE\nb", "a / rm y / c d; / b"),
    ("a <<A; rm y; b <<B\nx\nA\nz\nB\nc", "a / rm y / b / c"),
    ("if a <<E; then rm b; fi\nx\nE", "a / rm b"),
    ("a <<E\n\\c db\nE\nrm b", "a / rm b"),
    ("sh <<'E'\n\n\\rm b\nE", "sh / rm b"),
    ("a " + "b" * 400 + " <<'E' 2>&1 | rm c\nx\nE", "a " + "b" * 400 + " / rm c"),
    ("a-${{ m.os }} b && rm \"${{ x == 'y' }}\"", "a-${_m_os} b / rm ${_x_y}"),
    ("[ \\( a = b \\) -o c ] && rm d", "[ ( a = b ) -o c ] / rm d"),
    ("cc -c $< -o x && rm $^", "cc -c $ x / rm $^"),
]


@every(("line", "programs"), MENDED + LACKING)
def test_lines_misread_by_the_parser_are_read(line, programs):
    read = shell(line)
    assert (read.unparsed, " / ".join(" ".join(one.argv) for one in read.programs if not one.meant)) == ("", programs)


READ_AND_WRITTEN = [
    ("echo 'rm x' <> f | sh", "echo rm x / sh / rm x"),
    ("echo 'rm x' 3<>f | sh", "echo rm x / sh / rm x"),
    ("echo 'rm x' 1<>f | sh", "echo rm x / sh"),
    ("echo 'rm x' 2>a 1<> f | sh", "echo rm x / sh"),
]


@every(("line", "programs"), READ_AND_WRITTEN)
def test_a_file_opened_to_read_and_write_takes_the_output_only_on_descriptor_1(line, programs):
    read = shell(line)
    assert " / ".join(" ".join(program.argv) for program in read.programs) == programs
    assert "f" in [write.target for write in read.writes]


REFUSED = [
    ("echo $((1<<2)); cat <<E\nx\n E\nrm y\nE", "a heredoc with an ambiguous end"),
    ("echo ${ rm x; }", "invalid shell syntax, or an unsupported construct"),
    ("echo ${x@P}", "an expansion running commands"),
    ("[ a > b ]", "an operator within `[`"),
    ("ls\0; rm x", "control character U+0000"),
    ("ls \ud800", "control character U+D800"),
    ("ls\rrm x", "carriage returns"),
    ("ls \\\r\nrm x\r\n", "carriage returns"),
    ("if; then", "invalid shell syntax, or an unsupported construct"),
    ("ls 'a", "invalid shell syntax, or an unsupported construct"),
    ("ls 'a" * 2001, "invalid shell syntax, or too much of it"),
    ("a" * (MAX_BYTES + 1), "over 64 KiB"),
    ("é" * (MAX_BYTES // 2 + 1), "over 64 KiB"),
    ("$(" * 70 + "a" + ")" * 70, "nested deeper than 60 levels"),
    ("sudo " * 70 + "ls", "nested deeper than 60 levels"),
    ("{ " + "bash;" * 200 + "} <<E\n" + "#" * 2000 + "\nls\nE\n", "too many nested scripts"),
    ("curl" + "|sh" * 80, "over 1000 pipes into scripts"),
    ("a|b " * 12_000, "invalid shell syntax, or too much of it"),
    ("{ " + "bash;" * 60 + "} <<E\n" + "ls\n" * 300 + "E\n", "over 5000 parts"),
]


@every(("line", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_an_unsafe_reading_is_refused_with_the_reason(line, reason):
    read = shell(line)
    assert (read.unparsed, read.programs, read.categories) == (reason, (), ("unknown",))


def test_the_seeded_cases_are_ones_that_the_parser_takes_for_well_read():
    silent = [line for line, _ in MENDED if not PARSER.parse(line.encode()).root_node.has_error]
    assert len(silent) >= len(MENDED) - 4


PIECES = [
    "$(",
    "(",
    ")",
    "`",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    "((",
    "))",
    "$((",
    "${",
    "<<",
    "<<<",
    "<<E",
    "<",
    ">",
    ">>",
    ">(",
    "<(",
    "|",
    "||",
    "&",
    "&&",
    ";",
    ";;",
    "\n",
    "if",
    "then",
    "else",
    "fi",
    "case",
    "in",
    "esac",
    "for",
    "do",
    "done",
    "while",
    "function",
    "select",
    "time",
    "coproc",
    "!",
    "#",
    "\\",
    "=",
    "==",
    "=~",
    "+=",
    "a",
    "-x",
    "$x",
    "a=",
    "E\n",
    "*",
    "?",
    "~",
    "@(",
    "2>",
    "&>",
    "sudo",
    "bash",
    "-c",
    "eval",
    "xargs",
    "\t",
    "\r",
    "é",
    "\x00",
]


@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    "piece", [*PIECES, "a == ", "@(a==~", "a[| ", "~&>$", "[[ a && ", ")) ", "bash -c '", "a|", "x=$("]
)
def test_64_kib_of_anything_gets_an_answer(piece):
    read = shell(piece * (MAX_BYTES // len(piece.encode())))
    assert read.unparsed or len(read.programs) <= MAX_BYTES


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=40), st.sampled_from(["", " "]))
def test_nothing_that_is_written_raises(pieces, glue):
    read = shell(glue.join(pieces))
    assert read.unparsed == "" or read.categories == ("unknown",)


FOREIGN = [
    "{\U00031860",
    "a {\U0010fffd",
    "[ -\U000e0041 ]",
    "[[ -é ]]",
    "cat <<E\n$\U00031860\nE",
    "cat <<É\nÉ",
    "${\U000f0000}",
]


def test_letters_beyond_the_scanners_table_do_not_kill_the_process():
    """Where the memory beside the table lies differs from process to process, so that one may be spared by luck."""
    script = (
        "import sys\nfrom baton.lib.bash.tables import tables\nfrom baton.lib.bash.read import read\n"
        "empty = tables.build({'t.yaml': 'cat: read-only'})\n"
        "for text in sys.argv[1:]:\n    read(empty, text)\n"
    )
    texts = [text.replace("\U00031860", chr(point)) for text in FOREIGN for point in range(0x20000, 0x110000, 0x1000)]
    assert subprocess.run([sys.executable, "-c", script, *texts], check=False).returncode == 0


@every(
    ("text", "programs"),
    [
        ("rm é\u00a0x ü.txt", [["rm", "é\u00a0x", "ü.txt"]]),
        ("cat <<'É'\nx\nÉ\n", [["cat"]]),
        ("echo 'ж' | rm 日本", [["echo", "ж"], ["rm", "日本"]]),
    ],
)
def test_letters_of_any_script_are_letters_of_a_word(text, programs):
    assert [list(program.argv) for program in shell(text).programs] == programs
