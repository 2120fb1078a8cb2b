"""The lists of `make mutants` name existing things; `make mutants` itself checks the killing."""

from pathlib import Path

import yaml

from tests.support.cases import every

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "tests/mutants"


def listed(name):
    return yaml.safe_load((LISTS / name).read_text())


@every("one", listed("named.yaml"), ids=lambda one: one["name"])
def test_a_named_mutant_changes_one_place_and_its_test_exists(one):
    assert set(one) == {"name", "file", "text", "mutant", "test"}
    assert (ROOT / one["file"]).read_text().count(one["text"]) == 1
    path, _, function = one["test"].partition("::")
    assert not function or f"def {function.partition('[')[0]}(" in (ROOT / path).read_text()


def test_a_listed_survivor_has_a_reason():
    for one in listed("survivors.yaml"):
        assert set(one) == {"file", "function", "line", "mutant", "reason"}
        assert (ROOT / one["file"]).is_file()
        assert one["reason"]


def test_each_area_has_files_and_tests():
    for about in listed("areas.yaml")["areas"].values():
        assert all(any(ROOT.glob(pattern)) for pattern in about["sources"])
        assert all((ROOT / path).exists() for path in about["tests"] if path.startswith("tests/"))
