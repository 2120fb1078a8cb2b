from pathlib import Path

import pytest

from baton.engine.shell import tables
from baton.engine.text.yaml_lines import parse

SHIPPED = sorted(Path(__file__).parents[3].joinpath("policies", "shell").glob("*.yaml"))


@pytest.fixture(scope="module")
def texts():
    return {path.name: path.read_text("utf-8") for path in SHIPPED}


def test_every_shipped_table_builds(texts):
    built = tables.build(texts)
    assert isinstance(built, tables.ShellTables), "\n" + "\n".join(map(str, built))


def test_no_program_stands_in_two_files(texts):
    places = {}
    for name, text in texts.items():
        for key, value in (parse(text)[0] or {}).items():
            aka = value.get("aka", []) if isinstance(value, dict) else []
            for program in (*key.split("|"), *aka):
                places.setdefault(program, []).append(name)
    assert {program: files for program, files in places.items() if len(files) > 1} == {}
