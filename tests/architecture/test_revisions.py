"""The database's revisions form one line: duplicate numbers, or two last ones, would stop a server."""

import re
from pathlib import Path

VERSIONS = Path(__file__).parents[2] / "alembic" / "versions"
_NUMBER = re.compile(r'^(revision|down_revision): .*?= (?:"(\d{4})"|None)$', re.MULTILINE)


def test_each_revision_follows_the_one_before_it():
    before = None
    for path in sorted(VERSIONS.glob("*.py")):
        found = {name: number or None for name, number in _NUMBER.findall(path.read_text())}
        assert found == {"revision": path.name[:4], "down_revision": before}, (
            f"{path.name}: take the next free number, and name the one before it"
        )
        before = found["revision"]
