"""Whether a path reaches a protected one."""

from baton.rules.call.places.places import Locator, installed_paths
from tests.support.cases import every

LOCATOR = Locator(["**/.baton", "**/.baton/**"], ["**/.claude/settings.json", "**/.config/baton/**"])
INSTALLED = "hook_settings\t/srv/tools/baton\nbaton_home\t/srv/state"


def protected(target, reach="file", installed=INSTALLED):
    places = LOCATOR.places(target, "", "/home/ann/shop", "/home/ann/shop", reach, installed)
    return bool(places & {"baton_home", "hook_settings"})


CASES = [
    # path, reaches that count, reaches that do not
    ("~/.claude/settings.json", "file into below tree", ""),
    ("~/.claude", "into below tree", "file"),
    ("~", "into below tree", "file"),
    ("/home", "below tree", "file into"),
    ("/", "below", "file into tree"),
    ("~/.config", "into below tree", "file"),
    ("~/.config/other", "", "file into below tree"),
    ("~/.c*", "into below tree", "file"),
    ("~/*", "", "file into below"),
    ("~/.[a-c]*/settings.json", "file tree", ""),
    ("~/.{x,claude}/settings.{json,bak}", "file tree", ""),
    ("~/.CLAUDE/Settings.Json", "file tree", ""),
    ("x/.cl*/settings.json", "file tree", ""),
    ("/proc/self/root/home/ann/.baton", "file tree", ""),
    ("/proc/7/task/8/root/proc/9/root/home/ann/.baton", "file", ""),
    ("/dev/fd/3/.claude/settings.json", "file", ""),
    ("/srv/tools/baton/x.py", "file", ""),
    ("/srv/tools", "into below tree", "file"),
    ("/srv/t*ls/baton", "file tree", ""),
    ("/srv/toolsmith/baton", "", "file into below tree"),
    (".config", "", "file into below tree"),
    (".claude/agents/a.md", "", "file tree"),
    ("src/*.{js,map}", "", "file tree"),
    ("[", "", "file tree"),
    ("~/.[", "", "file tree"),
    ("{" * 100 + "a,b", "", "file"),
    ("text [with] *stars* " * 20, "", "file tree"),
    ("~/.b" + "*" * 300, "file tree", ""),
    ("~/.claude/$x", "file", ""),
    ("~/.claude/set$x", "file", ""),
    ("~/.claude/tool-$x", "", "file"),
]


@every(("path", "yes", "no"), CASES)
def test_programs_reaching_a_protected_path(path, yes, no):
    assert [reach for reach in yes.split() if not protected(path, reach)] == []
    assert [reach for reach in no.split() if protected(path, reach)] == []


def test_braces_without_end_cost_a_bounded_number_of_spellings():
    many = "~/" + "{a,b}" * 40 + "/settings.json"
    assert not protected(many)
    assert protected("~/.{" + ",".join(f"x{i}" for i in range(100)) + ",claude}/settings.json")


@every("line", ["", "hook_settings", "hook_settings\t", "x\t/a/b", "hook_settings\t/", "baton_home\t/home/ann"])
def test_a_broad_path_is_left_out(line):
    assert installed_paths(line, "/r") == {"baton_home": [], "hook_settings": []}
