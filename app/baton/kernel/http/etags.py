"""`ETag` and `If-Match` on resources that are replaced. It compares nothing: `baton.kernel.changes.versions` does."""

from typing import Annotated

from fastapi import Header

IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=200, description='The `ETag` of what is replaced, such as `"3"`; `*` for any.'),
]


def etag(version: int | str) -> str:
    """Give the `ETag` of a version."""
    return f'"{version}"'


def version_in(if_match: str | None) -> str | None:
    """Give the version, or versions separated by commas, that an `If-Match` names; None where there is none."""
    if if_match is None:
        return None
    return ",".join(part.strip().removeprefix("W/").strip('"') for part in if_match.split(","))
