"""Keeps one person's change from undoing another's unseen. It stores no version: each resource's table does."""

from baton.kernel.base.errors import PreconditionFailed


def check(given: str | None, current: int | str, *, required: bool = True) -> None:
    """Compare the version that a change starts from with the one that is stored.

    `given` is one version, several separated by commas, `*` for any, or None where the request names none.

    Raises:
        PreconditionFailed: it is another one, or none is given and one is required.
    """
    if given is None:
        if not required:
            return
        raise PreconditionFailed(f'the header `If-Match` is missing; the current version is `"{current}"`')
    if given != "*" and str(current) not in given.split(","):
        raise PreconditionFailed(
            f'`If-Match` is `"{given}"`, the current version is `"{current}"`; nothing was changed'
        )
