"""`If-Match` against the stored version."""

import pytest

from baton.kernel.base.errors import PreconditionFailed
from baton.kernel.http.paging import check_if_match, etag
from tests.support.cases import every


def test_an_etag_is_the_version_in_quotes():
    assert etag(3) == '"3"'


@every("if_match", ['"3"', 'W/"3"', '"2", "3"', '"2",W/"3"', "*", ' "3" ', "3"])
def test_a_change_starts_from_the_stored_version(if_match):
    check_if_match(if_match, 3)


@every("if_match", ['"2"', 'W/"2"', '"33"', '"2", "4"', "", '""', 'w3"'])
def test_a_change_that_starts_from_another_version_is_refused(if_match):
    with pytest.raises(PreconditionFailed) as refused:
        check_if_match(if_match, 3)
    assert str(refused.value) == f'`If-Match` is `{if_match}`, the current version is `"3"`; nothing was changed'


def test_a_change_without_a_version_is_allowed_only_where_documented():
    check_if_match(None, 3, required=False)
    with pytest.raises(PreconditionFailed, match="the header `If-Match` is missing"):
        check_if_match(None, 3)
    with pytest.raises(PreconditionFailed):
        check_if_match('"2"', 3, required=False)
