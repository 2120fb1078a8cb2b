"""A path's groups of config.yaml, as far as its text shows."""

import posixpath
import re

from hypothesis import given
from hypothesis import strategies as st

from baton.rules.call.places.path_groups import meets, wrong_glob
from baton.rules.call.places.places import Locator
from tests.support.cases import every

GLOBS = {
    "infra": ["infra/**", "!infra/README.md", "!infra/docs/**"],
    "terraform": ["**/*.tf"],
    "migrations": ["db/migrations/*.sql"],
    "keys": ["~/.ssh/id_*"],
    "srv": ["/srv/data/**"],
}
LOCATOR = Locator([], [], [], GLOBS)
GROUNDS = {"work", "scratch", "outside", "root", "home", "device"}


def groups(path, *, reach="file", base="", cwd="/home/ann/shop", root="/home/ann/shop"):
    return set(LOCATOR.places(path, base, cwd, root, reach)) - GROUNDS


@every(
    ("path", "reach", "expected"),
    [
        ("infra/a", "file", {"infra"}),
        ("infra", "file", {"infra"}),
        ("infra/a/b.tf", "file", {"infra", "terraform"}),
        ("./x/../infra//a", "file", {"infra"}),
        ("/home/ann/shop/infra/a", "file", {"infra"}),
        ("~/shop/INFRA/a", "file", {"infra"}),
        ("inf*/a", "file", {"infra"}),
        ("{infra,x}/a", "file", {"infra"}),
        ("infra/README.md", "file", set()),
        ("infra/docs/a", "file", set()),
        ("infra/docs", "tree", set()),
        ("infra/README.md/x", "file", {"infra"}),
        ("infra/*.md", "file", {"infra"}),
        ("infrastructure/a", "file", set()),
        ("src/infra/a", "file", set()),
        ("src/$x/a", "file", set()),
        ("src/$x/a.tf", "file", {"terraform"}),
        ("$HOME/shop/infra/a", "file", {"infra"}),
        (".", "file", set()),
        (".", "into", {"infra"}),
        (".", "tree", {"infra", "migrations", "terraform"}),
        ("*", "tree", {"infra", "migrations", "terraform"}),
        ("..", "tree", {"infra", "migrations", "terraform", "keys"}),
        ("/", "tree", {"infra", "migrations", "terraform", "keys", "srv"}),
        ("/home", "tree", {"infra", "migrations", "terraform", "keys"}),
        ("~", "tree", {"infra", "migrations", "terraform", "keys"}),
        ("/tmp", "tree", set()),
        ("build", "tree", set()),
        ("db", "tree", {"migrations"}),
        ("db/migrations", "into", {"migrations"}),
        ("db/migrations/1.sql", "file", {"migrations"}),
        ("db/migrations/old/1.sql", "file", set()),
        ("/srv/data", "file", {"srv"}),
        ("/sr?/data/x", "file", {"srv"}),
        ("~/.ssh/id_rsa", "file", {"keys"}),
        ("/home/bob/.ssh/id_rsa", "file", {"keys"}),
        ("/Users/Bob/.SSH/id_rsa", "file", {"keys"}),
        ("/root/.ssh/id_rsa", "file", {"keys"}),
        ("~/.ssh/config", "file", set()),
        ("~/.ssh", "tree", {"keys"}),
        ("~/.*", "tree", {"infra", "migrations", "terraform", "keys"}),
        ("/other/infra/a", "file", set()),
        ("/other/a.tf", "file", {"terraform"}),
    ],
)
def test_a_path_is_in_a_group(path, reach, expected):
    assert groups(path, reach=reach) == expected


def test_relative_globs_start_at_the_session_s_folder_where_the_project_is_not_known():
    assert groups("infra/a", cwd="/repo", root="") == {"infra"}
    assert groups("a", cwd="/repo/infra", root="/repo") == {"infra"}


@every(
    ("path", "base", "mentioned", "expected"),
    [
        ("$f", "", "read f <<< infra/a", {"infra"}),
        ("$f", "", "read f <<< src/a", set()),
        ("a", None, 'cd "$(root)/infra"', {"infra"}),
        ("$d/a.tf", "", "d=x.tf", {"terraform"}),
        ("$d/a.py", "", "d=x.tf", set()),
        ("$d/id_rsa", "", "d=~/.ssh/id_rsa", set()),
    ],
)
def test_a_path_with_an_unknown_start_counts_if_the_line_names_the_group(path, base, mentioned, expected):
    assert LOCATOR.possible_groups(path, base, "/repo", "/repo", "file", mentioned) == expected


@every("glob", ["", "/", ".", "!/", "../x", "a/../b", "$HOME/x", "a\\b", "[a", "x" * 201])
def test_a_glob_that_cannot_be_used_is_named(glob):
    assert wrong_glob(glob)


@every("glob", ["infra/**", "**/*.tf", "/srv/**", "~/.ssh/id_*", "!infra/README.md", "[ab]c", "a b/c"])
def test_other_globs_can_be_used(glob):
    assert wrong_glob(glob) == ""


NAMES = st.text("abc.", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
WILD_NAMES = st.text("ab*?", min_size=1, max_size=4).filter(lambda name: "**" not in name)


@given(st.lists(NAMES, max_size=5), st.lists(st.one_of(WILD_NAMES, st.just("**")), max_size=5))
def test_a_literal_path_fits_as_the_glob_s_expression_says(names, glob):
    parts = "".join(
        "(/[^/]+)*" if part == "**" else "/" + "".join({"*": "[^/]*", "?": "[^/]"}.get(c, re.escape(c)) for c in part)
        for part in glob
    )
    assert meets(tuple(names), tuple(glob)) is (re.fullmatch(parts, "".join("/" + name for name in names)) is not None)


@given(
    st.lists(WILD_NAMES, max_size=4),
    st.lists(st.one_of(WILD_NAMES, st.just("**")), max_size=4),
    st.lists(NAMES, max_size=4),
)
def test_two_globs_that_a_path_fits_meet(path, glob, names):
    literal = tuple(names)
    # A shell's wildcard at the start of a name takes no leading dot.
    if not any(name.startswith(".") for name in names) and meets(literal, tuple(path)) and meets(literal, tuple(glob)):
        assert meets(tuple(path), tuple(glob))


@given(
    st.lists(NAMES, min_size=1, max_size=4),
    st.lists(st.sampled_from(["./", "x/../", ".//", "a/b/../../"]), max_size=4),
    st.data(),
)
def test_no_spelling_of_a_path_leaves_its_group(names, steps, data):
    plain = "infra/" + "/".join(names)
    if plain == "infra/readme.md":
        return
    assert "infra" in groups(plain)
    spelt = "".join(steps) + plain.replace("/", data.draw(st.sampled_from(["/", "//", "/./", "/z/../"])))
    for prefix in (
        "",
        "/home/ann/shop/",
        "~/shop/",
        "$HOME/shop/",
        "../shop/",
        "/proc/self/cwd/",
        "/proc/self/root/home/ann/shop/",
    ):
        assert "infra" in groups(prefix + spelt)
    assert "infra" in groups("{x,infra}/" + "/".join(names))
    assert "infra" in groups("[i]nfra/" + "/".join(names))
    folder, _, last = posixpath.normpath(plain).rpartition("/")
    assert "infra" in groups(last, base=folder)
    assert "infra" in groups(last, base="/home/ann/shop/" + folder)
    assert "infra" in groups(last.upper(), base=folder.upper())
