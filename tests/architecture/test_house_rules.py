"""Project rules beyond linters. Each message gives the rule's reason."""

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.support.cases import every, listed

ROOT = Path(__file__).parents[2]
LIBRARIES = sorted((ROOT / "app" / "baton" / "lib").rglob("*.py"))
PURE = LIBRARIES + sorted((ROOT / "app" / "baton" / "rules").rglob("*.py"))
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


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def impurities(tree: ast.Module) -> set[str]:
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    moments = {"datetime.now" for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "now"}
    return (imported(tree) & IMPURE) | (calls & {"open", "print", "input"}) | moments


def test_the_engine_reads_nothing_but_its_arguments():
    used = {str(path.relative_to(ROOT)): impurities(parsed(path)) for path in PURE}
    found = {name: impure for name, impure in used.items() if impure}
    assert not found, listed(found, "a decision must depend on its facts alone, or it cannot be replayed")


def test_the_libraries_know_nothing_of_baton():
    known = re.compile(r"\bbaton(?!\.lib\b)", re.IGNORECASE)
    masked = "baton-token"  # the shape of our own tokens stands among those of the other vendors
    found = {
        f"{path.relative_to(ROOT)}:{number}": line.strip()
        for path in LIBRARIES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if known.search(line) and masked not in line
    }
    assert not found, listed(found, "a library can be published as it is; what Baton makes of it belongs to `rules`")


@every("seeded", ["import os", "from time import time", "open('x')", "datetime.now()", "import subprocess as s"])
def test_the_purity_check_sees_a_seeded_violation(seeded):
    assert impurities(ast.parse(seeded))


def test_each_module_has_a_docstring():
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    docs = {str(path.relative_to(ROOT)): ast.get_docstring(parsed(path)) for path in modules}
    found = {name: doc for name, doc in docs.items() if not doc}
    assert not found, listed(found, "a reader must learn from the first line what a file holds")


def test_only_the_settings_read_the_environment():
    readers = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text())
        and not {"cli", "local", "runner", "mcp", "serve"} & set(path.parts)
    }
    readers.discard("app/baton/lib/code/languages/python.py")  # names them, as what an agent's code may read
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


def test_no_two_public_classes_have_one_name():
    named = defaultdict(list)
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    found = {name: places for name, places in named.items() if len(places) > 1}
    assert not found, listed(found, "a class's name says which one it is, wherever it is read")


NAMING_A_CLIENT = {
    "clients/gemini.py": "the client itself",
    "clients/registry.py": "the list of clients",
    "local/hook/clients.py": "the same facts for `baton hook`, which cannot import `clients` in time",
    "shared/providers.py": "providers of delegated work",
    "rules/agents/plan.py": "a tool's name, `invoke_gemini`",
    "mcp/delegation.py": "the same tool",
}


def test_a_client_is_named_in_its_own_files_only():
    text = {str(name.relative_to("app/baton")): name for name in TRACKED if name.is_relative_to("app/baton")}
    naming = {short for short, name in text.items() if "gemini" in (ROOT / name).read_text(errors="replace").lower()}
    assert naming == set(NAMING_A_CLIENT), "facts of a client belong to its `SPEC`, so that a new client is one module"


def test_a_rooms_vague_names_of_functions_and_methods_mean_one_thing():
    named = defaultdict(list)
    for path in (path for path in SOURCES if len(path.relative_to(ROOT).parts) > 3):
        for node in ast.walk(parsed(path)):
            for one in node.body if isinstance(node, (ast.ClassDef, ast.Module)) else ():
                if getattr(one, "name", "") in {"find", "of", "take", "put", "note"}:
                    named[path.relative_to(ROOT).parts[2], one.name].append(f"{path.name}:{one.lineno}")
    found = {".".join(key): places for key, places in named.items() if len(places) > 1}
    assert not found, listed(found, "say what is found: `list_tokens`, `search`, `count`")
