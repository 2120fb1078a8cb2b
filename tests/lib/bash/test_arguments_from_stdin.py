"""`xargs` and similar programs: no word of the line names the wrapped program's writes."""

from pathlib import Path

import pytest

from baton.lib.bash.model import SOMEWHERE
from baton.lib.bash.read import read
from baton.lib.bash.tables.tables import ShellTables, build

SHELL = Path(__file__).parents[3] / "policies" / "shell"


@pytest.fixture(scope="module")
def tables() -> ShellTables:
    built = build({f"shell/{path.name}": path.read_text() for path in SHELL.glob("*.yaml")})
    assert isinstance(built, ShellTables)
    return built


LINES = [
    ("ls | xargs rm -f", [SOMEWHERE]),
    ("xargs -0 rm keep.txt < list", ["keep.txt", SOMEWHERE]),
    ("rg -l a | xargs sed -i s/a/b/", [SOMEWHERE]),
    ("ls | xargs -I{} cp {} /tmp/", ["/tmp/"]),
    ("ls | xargs grep foo", []),
    ("xargs kill < pids", []),
    ("ls | rm", []),
]


@pytest.mark.parametrize(("line", "writes"), LINES, ids=[line for line, _ in LINES])
def test_unknown_targets_are_reported(tables, line, writes):
    assert [write.target for write in read(tables, line).writes] == writes
