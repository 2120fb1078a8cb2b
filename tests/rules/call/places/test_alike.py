"""Names unused by any list of places are equivalent: a path has the same places with any of them."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from baton.rules.call.places.path_groups import ALIKE
from baton.rules.call.places.places import Locator, own_names
from tests.support.cases import every
from tests.support.shipped import shipped

INSTALLED = "baton_home\t/opt/tools/state\nhook_settings\t/home/ann/work/.venv/lib/baton"
NAMES = [
    "", ".", "..", "~", "a", "qzx", "qz.", "file.txt", "x.tf", ".TF", "infra", "Infra", "docs", "live", "app-1", "x", "home", "Users", "ann", "root",
    "etc", "var", "tmp", "dev", "tty1", "null", "proc", "self", "fd", "mnt", "c", "c:", "Windows", "srv", "usr", "bin", ".ssh", "id_rsa", "key.pem",
    ".bashrc", ".config", "baton", ".baton", ".claude", "settings.json", "opt", "tools", "state", "work", ".venv", "lib", "private", "System",
    "Volumes", "Data", "folders", "shm", "k=v", "http:", "a:b", "*", "$x", "{a,b}",
]  # fmt: skip
FOLDERS = [
    "/home/ann/work",
    "/",
    "/w",
    "/home",
    "/dev",
    "/etc",
    "/srv/one",
    "/home/ann/dev/work",
    "/c/Users/ann",
    "C:/work",
    "",
]


@cache
def locator():
    config = shipped().config
    infra = ["infra/**", "**/*.tf", "!infra/docs/*", "/srv/*/live", "app-?/x"]
    return Locator(config.baton_home, config.hook_settings, config.startup_files, {**config.places, "infra": infra})


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
BASES = st.sampled_from(["", None, "..", "infra", "/etc", "/home/ann", "~/.ssh", "/dev", "dev", "$x/y", "D:/x"])


@given(
    path=paths,
    base=BASES | paths,
    cwd=st.sampled_from(FOLDERS),
    root=st.sampled_from(FOLDERS),
    reach=st.sampled_from(["file", "tree", "into", "below"]),
)
def test_a_path_and_its_representative_have_the_same_places(path, base, cwd, root, reach):
    one = locator()
    instead, folder = one.alike_names.alike(path, base, own_names(INSTALLED, (cwd, root)))
    rest = cwd, root, reach
    assert one.places(path, base, *rest, INSTALLED) == one.places(instead, folder, *rest, INSTALLED)
    for mentioned in ("", "infra x.tf"):
        found = one.possible_groups(path, base, *rest, mentioned)
        assert found == one.possible_groups(instead, folder, *rest, mentioned)


@every(
    ("path", "instead"),
    [
        ("qz1", ALIKE),
        ("pages/one.py", f"{ALIKE}/{ALIKE}"),
        ("~/notes", f"~/{ALIKE}"),
        ("/etc/passwd", "/etc/passwd"),
        ("/etc/hosts", f"/etc/{ALIKE}"),
        ("../main.tf", "../main.tf"),
        ("src/$x", "src/$x"),
        ("*.py", "*.py"),
        ("/dev/tty7", "/dev/tty7"),
    ],
)
def test_only_names_that_are_nowhere_listed_are_replaced(path, instead):
    assert locator().alike_names.alike(path, "", own_names("", ("/home/ann/work", ""))) == (instead, "")


def test_the_names_of_a_folder_are_replaced_too():
    own = own_names("", ("/home/ann/work", ""))
    assert locator().alike_names.alike("main.tf", "qz1/infra", own) == ("main.tf", f"{ALIKE}/infra")


@every("glob", ["infra/?", "infra/[ab]", "x**y"])
def test_globs_for_any_name_change_no_path(glob):
    names = Locator([], [], [], {"infra": [glob]}).alike_names
    assert names.alike("pages/one", "", own_names("", ("/w", ""))) == ("pages/one", "")
