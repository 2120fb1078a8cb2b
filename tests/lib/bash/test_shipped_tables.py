from pathlib import Path

import pytest

from baton.lib.bash.tables import tables
from baton.lib.text.yaml_lines import parse

SHIPPED = sorted(Path(__file__).parents[3].joinpath("policies", "shell").glob("*.yaml"))


@pytest.fixture(scope="module")
def texts():
    return {path.name: path.read_text("utf-8") for path in SHIPPED}


def test_every_shipped_table_builds(texts):
    built = tables.build(texts)
    assert isinstance(built, tables.ShellTables), "\n" + "\n".join(map(str, built))


def test_no_program_is_in_two_files(texts):
    places = {}
    for name, text in texts.items():
        if name in (tables.SECRETS_FILE, tables.HELD_FILE):  # they say something else of the same programs
            continue
        for key, value in (parse(text)[0] or {}).items():
            aka = value.get("aka", []) if isinstance(value, dict) else []
            for program in (*key.split("|"), *aka):
                places.setdefault(program, []).append(name)
    assert {program: files for program, files in places.items() if len(files) > 1} == {}


def test_no_program_is_twice_in_the_table_of_secrets(texts):
    names = [name for key in parse(texts[tables.SECRETS_FILE])[0] for name in key.split("|")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
