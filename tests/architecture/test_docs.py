"""Pages name existing files, links resolve, and limits in tables equal those in the code."""

import ast
import importlib
import re
import subprocess
from pathlib import Path

from baton.kernel.base.settings import Settings
from tests.support.cases import every

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "app" / "baton"
PAGES = [
    Path(name)
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    if (ROOT / name).is_file() and not name.startswith("tests/fixtures/")
]
TOP = ("app/", "tests/", "policies/", "docs/", "hooks/", "openapi/", "bench/", "deploy/", "alembic/", "clients/")
MADE = {
    "./scripts/x.sh",
    "deploy/.env",
    "tests/e2e/.clients/",
    "policies/guardrails/no-terraform-destroy.yaml",
    "tests/ROOM/test_api.py",
}
"""What the reader or a test makes, and examples."""
_CODE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


_LIMIT = re.compile(r"^\|[^|]*\|([^|]*)\| `(baton\.[\w.]+|BATON_\w+)` \|", re.MULTILINE)
"""A row `| limit | value | constant |`; the constant is a dotted name or a setting's variable."""
_VALUE = re.compile(r" ([\d,.]+)(?: (\w+))? ")
_UNITS = {None: 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1, "min": 60, "h": 3_600, "day": 86_400, "days": 86_400}
RECORDS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def in_code(name):
    """Return the value of a constant, or the default of a setting."""
    if name.startswith("BATON_"):
        return Settings.model_fields[name.removeprefix("BATON_").lower()].default
    module, _, constant = name.rpartition(".")
    return getattr(importlib.import_module(module), constant)


def wrong_limits(text):
    """Return the constants of a page's tables whose value the code does not share."""
    found = {name: _VALUE.fullmatch(value) for value, name in _LIMIT.findall(text)}
    return {
        name
        for name, value in found.items()
        if value is None or float(value[1].replace(",", "")) * _UNITS.get(value[2], 0) != in_code(name)
    }


def missing(page, text):
    """Return the files that a page names and that are not there."""
    named = {name for name in _CODE.findall(text) if name.startswith(TOP) or name.endswith((".py", ".lua", ".sh"))}
    absent = {
        name for name in named if not any((place / name).exists() for place in (ROOT, PACKAGE, page.parent))
    } - MADE
    return absent | {link for link in _LINK.findall(text) if not (page.parent / link).exists()}


@every("page", PAGES, ids=str)
def test_pages_name_existing_files(page):
    assert missing(ROOT / page, (ROOT / page).read_text()) == set()


@every("page", [*RECORDS, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_limits_in_a_page_equal_the_code(page):
    assert wrong_limits(page.read_text()) == set()


def test_a_wrong_limit_is_found():
    name = "baton.lib.bash.misreadings.MAX_BYTES"
    rows = {f"| line | {value} | `{name}` |": value for value in ("64 KiB", "65,536", "256 KiB", "64 KB", "many")}
    assert [value for row, value in rows.items() if wrong_limits(row)] == ["256 KiB", "64 KB", "many"]
    assert wrong_limits("| wait | 51 | `BATON_REDIS_TIMEOUT_MS` |") == {"BATON_REDIS_TIMEOUT_MS"}


def test_the_index_lists_every_decision_record():
    index = (ROOT / "docs/decisions/README.md").read_text()
    listed = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\)", index, re.MULTILINE)
    assert listed == [(page.name[:4], page.name) for page in RECORDS]
    gaps = {f"{n:04}" for n in range(1, int(listed[-1][0]))} - {number for number, _ in listed}
    assert gaps == set(re.findall(r"\b\d{4}\b", index.rpartition("**Missing numbers.**")[2])), (
        "note the missing numbers"
    )


@every("page", RECORDS, ids=lambda page: page.name)
def test_a_decision_record_fits_one_screen(page):
    lines = page.read_text().splitlines()
    assert len(lines) <= 45, "a decision record has at most 45 lines: move measurements to bench/RESULTS.md"
    assert max(map(len, lines)) <= 130, "a line of a decision record has at most 130 characters"


def test_a_missing_name_in_a_page_is_found():
    text = "`app/baton/gone.py`, `modes/gone.py`, [x](gone.md), `app/baton/main.py`, `modes/api.py`, [y](docs)"
    assert missing(ROOT / "README.md", text) == {"app/baton/gone.py", "modes/gone.py", "gone.md"}


def test_a_page_names_only_variables_that_the_code_reads():
    search = ["git", "grep", "-ohwE", "BATON_[A-Z0-9_]+", "--", "app", "hooks", "bench", "compose.yaml", ":!*.md"]
    read = set(subprocess.run(search, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    read |= {f"BATON_{name.upper()}" for name in Settings.model_fields} | {"BATON_BREAKERS__WINDOW"}  # a rejected form
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    wrong = {str(page): set(re.findall(r"\bBATON_\w*[A-Z0-9]\b", (ROOT / page).read_text())) - read for page in pages}
    assert {page: names for page, names in wrong.items() if names} == {}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_page_for_operators_lists_the_periodic_tasks():
    rows = []
    for path in PACKAGE.rglob("feature.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PeriodicTask":
                by = "one" if any(one.arg == "one_server" for one in node.keywords) else "each"
                rows.append(f"| {node.args[0].value} | {node.args[1].value:,} | {by} server |")
    page = (ROOT / "docs" / "operations.md").read_text()
    assert len(rows) >= 12
    assert [row for row in rows if row not in page] == []
