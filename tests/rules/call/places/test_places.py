"""The places of paths, from their texts alone."""

from baton.rules.call.places.places import Locator
from tests.support.cases import every

LOCATOR = Locator(
    ["**/.baton", "**/.baton/**", "$BATON_HOME", "$BATON_HOME/**"], ["**/.claude/settings.json", "**/.config/baton/**"]
)
HERE = {"cwd": "/home/ann/proj/sub", "root": "/home/ann/proj"}


def places(target, base="", cwd=HERE["cwd"], root=HERE["root"], reach="file"):
    return LOCATOR.places(target, base, cwd, root, reach)


@every(
    "target",
    [
        "a.py",
        "./a.py",
        "../a.py",
        "/home/ann/proj",
        "/home/ann/proj/x/../y",
        "~/proj/a.py",
        "$HOME/proj/a.py",
        "${HOME}/proj/a.py",
        "$PWD/a.py",
        "$(pwd)/a.py",
        "$UNKNOWN/a.py",
        "$(mktemp)",
        "`echo x`",
        "src/*.py",
        "/home/ann/$x",
        "/tmp/$x/../../home/ann/proj/a.py",
        "",
    ],
)
def test_unknown_or_inner_paths_count_as_work(target):
    assert "work" in places(target)


@every(
    "target", ["/tmp/a", "/private/tmp/a", "/var/tmp/x/y", "/dev/shm/a", "$TMPDIR/a", "${TMPDIR:-/tmp}/a", "/tmp/a-$x"]
)
def test_temporary_folders_elsewhere_are_scratch(target):
    assert places(target) == {"scratch"}


@every("target", ["/home/ann/other/a", "../../a", "~/a", "/etc/hosts", "/home/ann/project/a", "/"])
def test_other_places_are_outside(target):
    assert "outside" in places(target)
    assert "work" not in places(target)


def test_the_project_under_a_temporary_folder_is_work():
    assert places("/tmp/p/a", cwd="/tmp/p", root="/tmp/p") == {"work"}
    assert places("/tmp/q/a", cwd="/tmp/p", root="/tmp/p") == {"scratch"}
    assert places("/tmp/*", cwd="/tmp/p", root="/tmp/p") == {"work"}


def test_without_any_folder_only_temporary_ones_are_no_work():
    assert places("/src/a.py", cwd="", root="") == {"work"}
    assert places("a.py", cwd="", root="") == {"work"}
    assert places("/tmp/a.py", cwd="", root="") == {"scratch"}


def test_a_base_is_where_a_relative_path_starts():
    assert places("a.py", base="/tmp") == {"scratch"}
    assert places("a.py", base="..") == {"work"}
    assert places("a.py", base="../..") == {"outside"}
    assert places("/tmp/a.py", base=None) == {"scratch"}
    assert places("a.py", base=None) == {"work"}


def test_removing_the_work_s_folder_counts_as_work():
    assert "work" in places("/home/ann", reach="tree")
    assert "work" not in places("/home/ann/other", reach="tree")


@every("target", ["/", "//", "/.", "/*", "/.*", "/tmp/..", "/{*,.*}", "/../..", "/etc", "/usr/*"])
def test_root_itself(target):
    assert "root" in places(target)


@every(
    "target",
    [
        "~",
        "~/",
        "~/*",
        "~bob",
        "$HOME",
        "${HOME}/",
        "${HOME:?}",
        "/home/ann",
        "/home/bob/",
        "/Users/x",
        "/root",
        "~/.*",
        "/home",
    ],
)
def test_a_home_itself(target):
    assert "home" in places(target)


@every("target", ["/tmp", "~/x", "/home/ann/x", "$HOME/x/*", "/etc/hosts", "/usr/local", "/opt/x", "a/", "$HOMEWORK"])
def test_neither_root_nor_home(target):
    assert not {"root", "home"} & places(target)


def test_the_session_may_run_in_a_home_or_at_the_root():
    assert "home" in places(".", cwd="/home/ann", root="")
    assert "home" in places("*", cwd="/home/ann", root="")
    assert "root" in places("*", base="/")


@every("target", ["/dev/sda", "/dev/nvme0n1p2", "/dev/disk2", "/dev/mapper/x", "/dev/loop0"])
def test_devices(target):
    assert places(target) == {"device"}


@every("target", ["/dev/null", "/dev/stderr", "/dev/fd/3", "/dev/tty", "/dev/ttyUSB0", "/dev/tcp/h/80"])
def test_harmless_devices_are_nowhere(target):
    assert places(target) == set()


@every("target", [".baton", "../.baton/x.db", "/srv/x/.baton/policies/a.yaml", "$BATON_HOME", "$BATON_HOME/x"])
def test_batons_own_folder(target):
    assert "baton_home" in places(target)


def test_hook_settings_and_the_folder_that_holds_them():
    assert "hook_settings" in places("../.claude/settings.json")
    assert "hook_settings" in places("$dir/.claude/settings.json")
    assert "hook_settings" in places("~/.config/baton/config")
    assert "hook_settings" in places("../.claude", reach="tree")
    assert "hook_settings" in places("../.claude/*")
    assert "hook_settings" not in places("../.claude")
    assert "hook_settings" not in places("../.claude/agents/a.md")
    assert "hook_settings" not in places("*")


def test_a_path_too_long_to_read_may_be_anywhere_that_is_protected():
    assert places("a/../" * 20_000 + ".baton/x") == {"work", "baton_home", "hook_settings", "startup_files"}


def test_climbing_above_an_unknown_home():
    assert "home" in places("~/..", cwd="/srv/app", root="/srv/app")
    assert "root" in places("~/../..", cwd="/srv/app", root="/srv/app")


def test_windows_paths():
    assert places(r"C:\proj\a.py", cwd=r"C:\proj", root="") == {"work"}
    assert places(r"C:\other\a.py", cwd=r"C:\proj", root="") == {"outside"}
    assert "home" in places("/c/Users/ann", cwd=r"C:\proj", root="")
