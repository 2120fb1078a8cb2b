"""`ETag` and `If-Match`: they keep one person's change from undoing another's unseen."""

from typing import Annotated

from fastapi import Header

from baton.kernel.base.errors import PreconditionFailed

IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=200, description='The `ETag` of what is replaced, such as `"3"`; `*` for any.'),
]


def etag(version: int | str) -> str:
    """Return the `ETag` of a version."""
    return f'"{version}"'


def check_if_match(if_match: str | None, current: int | str, *, required: bool = True) -> None:
    """Compare the version that a change starts from with the stored one.

    Args:
        if_match: The header as it was sent: one or several tags, `*` for any version, None if it is absent.
        current: The stored version.
        required: Whether a request without the header is refused.

    Raises:
        PreconditionFailed: It names another version, or is missing although it is required.
    """
    if if_match is None:
        if not required:
            return
        raise PreconditionFailed(f'the header `If-Match` is missing; the current version is `"{current}"`')
    # A proxy that compresses answers makes our tags weak (`W/"3"`); versions stay exact, so both name the same one.
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")]
    if "*" not in tags and str(current) not in tags:
        raise PreconditionFailed(
            f'`If-Match` is `{if_match}`, the current version is `"{current}"`; nothing was changed'
        )
