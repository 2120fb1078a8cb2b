"""A test of many rows tries each, and tells those that fail."""

import asyncio
import re

import pytest

from tests.support.cases import every


@every("is_async", [False, True])
def test_each_failing_row_is_reported_with_number_and_error(is_async):
    tried = []

    def check(given, want, made):
        tried.append(given)
        if given == "skips":
            pytest.skip("not here")
        if given == "raises nothing":
            with pytest.raises(ValueError, match="wrong"):
                pass
        assert made + given == want

    async def checked(given, want, made):
        check(given, want, made)

    rows = [("a", "xa"), ("b", "wrong"), ("skips", ""), ("raises nothing", ""), pytest.param("c", "c", id="named")]
    run = every("given, want", rows)(checked if is_async else check)
    with pytest.raises(AssertionError) as failed:
        asyncio.run(run(made="x")) if is_async else run(made="x")
    assert tried == ["a", "b", "skips", "raises nothing", "c"]
    told = re.findall(r"^row .*", str(failed.value), re.MULTILINE)
    assert told == [
        "row 1, given='b', want='wrong'",
        "row 2, given='skips', want=''",
        "row 3, given='raises nothing', want=''",
        "row 4, named",
    ]
    assert str(failed.value).startswith("4 rows fail:")
    assert "AssertionError" in str(failed.value)
    assert f"{__file__}:" in str(failed.value)


def test_rows_of_several_tables_are_tried_with_each_other():
    tried = []
    every("one", [1, 2])(every("other", ["a", "b"])(lambda one, other: tried.append((one, other))))()
    assert tried == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


@every(
    ("names", "rows"),
    [("given", []), ("given", [pytest.param(1, marks=pytest.mark.slow("a reason"))]), (("given", "want"), [(1,)])],
)
def test_a_table_that_cannot_be_is_refused(names, rows):
    with pytest.raises(ValueError, match=r"row|zip"):
        every(names, rows)
