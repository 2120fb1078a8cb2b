"""A far too long or deep line is refused as unreadable."""

from baton.lib.bash.read import read
from tests.support.cases import every
from tests.support.shipped import shipped


@every(
    "line",
    [
        "$(" * 100_000, "(" * 30_000 + ")" * 30_000, "$(echo " * 400 + ")" * 400, "a" * 70_000, "ls; " * 20_000 + "rm -rf /",
        "`" * 1000, "<<A " * 5000, "{ " * 5000, '"$(' * 5000, "((" * 5000, "[[ " * 5000,
    ],
    ids=lambda line: f"{line[:8]} {len(line)}",
)  # fmt: skip
def test_an_endless_line_is_refused(line):
    assert read(shipped().tables, line).unparsed
