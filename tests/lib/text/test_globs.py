from baton.lib.text.globs import any_of, any_path, fits_name
from tests.support.cases import every


@every(
    ("glob", "yes", "no"),
    [
        ("Edit", ["Edit"], ["edit", "Edit2", "MultiEdit"]),
        ("*", ["", "x", "a/b\nc"], []),
        ("a*", ["a", "abc", "a/b"], ["ba"]),
        ("*a", ["a", "cba"], ["ab"]),
        ("*a*", ["a", "xay"], ["b"]),
        ("a*b*c", ["abc", "a--b--c"], ["acb"]),
        ("a?c", ["abc"], ["ac", "abbc"]),
        ("[ab]x", ["ax", "bx"], ["cx", "x"]),
        ("[!ab]x", ["cx"], ["ax"]),
        ("a.b+(c)", ["a.b+(c)"], ["axb+(c)"]),
        ("[*]", ["*"], ["x"]),
    ],
)
def test_words(glob, yes, no):
    match = any_of([glob])
    assert [text for text in yes if not match(text)] == []
    assert [text for text in no if match(text)] == []


@every(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py"], ["src/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "src/a.py", "/x/y/a.py"], ["a.js"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "x/src/a"]),
        ("**/.claude/**", [".claude/x", "/a/.claude/b/c"], [".claude", "x.claude/y"]),
        ("a/?/c", ["a/b/c"], ["a//c", "a/bb/c"]),
    ],
)
def test_paths(glob, yes, no):
    match = any_path([glob])
    assert [text for text in yes if not match(text)] == []
    assert [text for text in no if match(text)] == []


def test_text_that_is_no_unicode_is_matched_all_the_same():
    assert any_of(["a*b*"])("axb\ud800")
    assert not any_of(["a*b*"])("\ud800")


@every(
    ("globs", "text", "holds"),
    [
        (["*baton*mode*off*", "*baton*hooks*install*"], "x baton hooks uninstall", True),
        (["*baton*mode*off*", "*baton*hooks*install*"], "x bato hooks uninstall", False),
        (["*a[bc]d*e*", "*a[!b]d*f*"], "xacdxe", True),
        (["*a?c*d*", "*a[x]c*d*"], "axc-d", True),
        (["*[a]*[a]*"], "a-a", True),
    ],
)
def test_a_shared_prefix_hides_no_match(globs, text, holds):
    assert any_of(globs)(text) is holds


@every(
    ("glob", "yes", "no"),
    [
        (".b*", [".baton", ".b"], ["b", ".a"]),
        ("*", ["a", ""], [".a"]),
        ("?b", ["ab"], [".b", "b"]),
        (".[a-c]x", [".ax", ".cx"], [".dx", ".x"]),
        (".[!a-c]x", [".dx"], [".ax"]),
        (".[]a]", [".]", ".a"], [".b"]),
        ("[", ["["], ["a"]),
        ("a[", ["a["], ["a"]),
        (".[[:alpha:]]", [".a"], ["."]),
        (".@(a|b)c", [".ac", ".anyc"], [".a"]),
        ("@(.a)", [".a"], []),
        ("+(a|b)", ["a"], [".a"]),
        ("a*b*", ["ab", "axbx"], ["ba"]),
    ],
)
def test_a_name_fits_as_a_shell_matches_it(glob, yes, no):
    assert [name for name in yes if not fits_name(glob, name)] == []
    assert [name for name in no if fits_name(glob, name)] == []


@every("glob", [".*a" * 20_000, "[" * 60_000, "@(" * 30_000, ".b*" + "x" * 60_000, "[[:" * 20_000])
def test_a_long_glob_matches_exactly(glob):
    assert not fits_name(glob, ".baton")
    assert fits_name(".b" + "*" * 60_000 + "n", ".baton")
