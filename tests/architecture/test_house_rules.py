"""The rules of the house that no linter knows. Each message says why the rule is there."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.support.cases import listed

ROOT = Path(__file__).parents[2]
ENGINE = sorted((ROOT / "app" / "baton" / "engine").rglob("*.py"))
SOURCES = sorted((ROOT / "app").rglob("*.py"))
TRACKED = [
    Path(name)
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    if (ROOT / name).is_file()
]

IMPURE = {
    "asyncio", "datetime.now", "fastapi", "httpx2", "logging", "os", "pathlib", "random", "redis", "secrets", "shutil",
    "socket", "sqlalchemy", "sqlmodel", "starlette", "subprocess", "sys", "tempfile", "threading", "time", "uuid",
    "uuid_utils", "uvicorn",
}  # fmt: skip
LARGE = {
    # file: why it is one idea in more than 400 lines
    "app/baton/engine/code/languages/windows.py": "one reader for PowerShell and cmd, which differ in little: words, statements, programs",
    "app/baton/engine/shell/tables/tables.py": "the format of a shell table, what it becomes, and the checks between the two",
}


def imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def impurities(source: str) -> set[str]:
    tree = ast.parse(source)
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    moments = {"datetime.now" for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "now"}
    return (imported(tree) & IMPURE) | (calls & {"open", "print", "input"}) | moments


def test_the_engine_reads_nothing_but_its_arguments():
    used = {str(path.relative_to(ROOT)): impurities(path.read_text()) for path in ENGINE}
    found = {name: impure for name, impure in used.items() if impure}
    assert not found, listed(found, "a decision must depend on its facts alone, or it cannot be replayed")


@pytest.mark.parametrize(
    "seeded", ["import os", "from time import time", "open('x')", "datetime.now()", "import subprocess as s"]
)
def test_the_purity_check_sees_a_seeded_violation(seeded):
    assert impurities(seeded)


def test_no_file_grows_into_a_hall_of_everything():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    found = {name: lines for name, lines in sizes.items() if lines > 400 and name not in LARGE}
    assert not found, listed(found, "split it, or give its reason in LARGE")


def test_no_folder_holds_more_than_a_reader_takes_in():
    folders = Counter(str(path.parent.relative_to(ROOT)) for path in SOURCES if path.name != "__init__.py")
    found = {name: modules for name, modules in folders.items() if modules > 16}
    assert not found, listed(found, "give an idea of several modules a folder of its own")


def test_each_module_says_what_it_is_for():
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    docs = {str(path.relative_to(ROOT)): ast.get_docstring(ast.parse(path.read_text())) for path in modules}
    found = {name: doc for name, doc in docs.items() if not doc}
    assert not found, listed(found, "a reader must learn from the first line what a file holds")


def test_only_the_settings_read_the_environment():
    readers = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text())
        and not {"cli", "local", "runner", "mcp", "serve"} & set(path.parts)
    }
    readers.discard("app/baton/engine/code/languages/names/python.py")  # names them, as what an agent's code may read
    assert readers <= {"app/baton/kernel/base/settings.py"}, "an operator must find every setting in one place"


def test_nothing_is_left_for_later():
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    found = [
        str(name)
        for name in TRACKED
        if name.suffix in {".py", ".sh"}
        and "architecture" not in name.parts
        and "corpus" not in name.parts
        and marks.search((ROOT / name).read_text(errors="replace"))
    ]
    assert not found, "what is not done is said in an issue, not in the code"


def test_locks_and_docs_name_no_machine_and_no_registry():
    hosts = re.compile(r"https?://(pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org)|--(extra-)?index-url http")
    paths = re.compile(r"(^|[\s\"'(=])/(root|work|farm)/[a-z]")
    found = [
        str(name)
        for name in TRACKED
        if name.suffix in {".txt", ".json", ".md", ".toml", ".py", ".sh", ".yaml"}
        and "corpus" not in name.parts
        and name.name != "test_house_rules.py"
        and (
            hosts.search(text := (ROOT / name).read_text(errors="replace"))
            or (name.parts[0] != "tests" and paths.search(text))
        )
    ]
    assert not found, "a checkout must work on any machine and with any mirror"


def test_every_decision_record_has_a_status():
    records = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    assert records
    for path in records:
        assert "**Status:**" in path.read_text(), f"{path.name}: a reader must see whether a decision still holds"
