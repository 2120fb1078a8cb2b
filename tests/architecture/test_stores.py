"""Every store is tested on SQLite and on Postgres: they accept different things."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.support.cases import every, listed

ROOT = Path(__file__).parents[2]
APP, TESTS = ROOT / "app", ROOT / "tests"
SOURCES = sorted((APP / "baton").rglob("*.py"))
BOTH = {"sqlite", "postgres"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file imports at its top; `from a import b` may mean `a` and `a.b`."""
    found = set()
    for node in tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def with_support(path: Path) -> set[str]:
    """Return the modules that a test imports itself or through `tests/support`."""
    found, todo = set(), {name for name in imports(path) if name.startswith("tests.support.")}
    while todo:
        module = ROOT / (todo.pop().replace(".", "/") + ".py")
        if module.exists() and module not in found:
            found.add(module)
            todo |= {name for name in imports(module) if name.startswith("tests.support.")}
    return set(imports(path)).union(*map(imports, found))


def module(path: Path) -> str:
    return ".".join(path.relative_to(APP).with_suffix("").parts)


def functions(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {n.name: n for n in tree(path).body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def on_both(test: Path) -> bool:
    """Whether a test of the file asks, at whatever distance, for a fixture that is made for both databases."""
    known: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    folders = [folder for folder in reversed(test.parents) if folder.is_relative_to(TESTS)]
    for place in [*(folder / "conftest.py" for folder in folders), test]:
        if place.exists():
            for name in imports(place):
                source = ROOT / (name.rpartition(".")[0].replace(".", "/") + ".py")
                if name.startswith("tests.support.fixtures.") and source.exists():
                    known |= functions(source)
            known |= functions(place)
    todo = [name for name in functions(test) if name.startswith("test_")]
    seen = set(todo)
    while todo:
        function = known[todo.pop()]
        decorators = [node for decorator in function.decorator_list for node in ast.walk(decorator)]
        if {node.value for node in decorators if isinstance(node, ast.Constant)} >= BOTH:
            return True
        wanted = {one.arg for one in function.args.args} & known.keys() - seen
        todo += wanted
        seen |= wanted
    return False


@pytest.fixture(scope="module")
def tested():
    """Return the modules that tests on both databases import, and those of which they have a feature built."""
    found = set().union(*(with_support(path) for path in TESTS.rglob("test_*.py") if on_both(path)))
    return found.union(*(imports(path) for path in SOURCES if path.stem == "feature" and module(path) in found))


@pytest.mark.slow("reads all modules and tests")
def test_every_store_is_tested_on_both_databases(tested):
    named = [path for path in SOURCES if path.stem.endswith("store") or path.parent.name == "stores"]
    stores = [path for path in named if "sqlalchemy" in imports(path)]
    assert len(stores) > 15
    missing = {}
    for store in stores:
        users = [path for path in SOURCES if module(store) in imports(path)]
        if not tested & {module(store), *map(module, users)}:
            missing[module(store)] = "no test with the fixture `database` imports it or what uses it"
    assert not missing, listed(missing)


@every(
    ("test", "wanted"),
    [("people/test_tokens.py", True), ("delegate/jobs/test_service.py", True), ("decide/test_api.py", False)],
)
def test_tests_of_one_database_are_distinguished(test, wanted):
    assert on_both(TESTS / test) is wanted
