"""Pages name files that are there, and links lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.shipped import shipped

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
MADE = {"./scripts/x.sh", "deploy/.env", "tests/e2e/.clients/"}
"""What the reader or a test makes, and examples."""
_CODE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def missing(page, text):
    """Return the files that a page names and that are not there."""
    named = {name for name in _CODE.findall(text) if name.startswith(TOP) or name.endswith((".py", ".lua", ".sh"))}
    absent = {
        name for name in named if not any((place / name).exists() for place in (ROOT, PACKAGE, page.parent))
    } - MADE
    return absent | {link for link in _LINK.findall(text) if not (page.parent / link).exists()}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_names_what_is_there(page):
    assert missing(ROOT / page, (ROOT / page).read_text()) == set()


def test_the_check_sees_what_is_gone():
    text = "`app/baton/gone.py`, `modes/gone.py`, [x](gone.md), `app/baton/main.py`, `modes/api.py`, [y](docs)"
    assert missing(ROOT / "README.md", text) == {"app/baton/gone.py", "modes/gone.py", "gone.md"}


def test_the_readme_shows_the_revision_of_the_shipped_policies():
    found = set(re.findall(r"policy revision ([0-9a-f]{12})", (ROOT / "README.md").read_text()))
    assert found == {shipped().revision}, "put what `baton policy test` prints into README's transcript"
