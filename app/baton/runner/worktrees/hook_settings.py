"""Knows the files that make agents' clients ask Baton: an agent may have no change to them applied, a person may."""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath

import yaml

from baton.shared import policy_folders


def is_hook_setting(path: str, *, is_link: bool) -> bool:
    """Return whether a file of a repository is such a file, or a link in the place of a folder above one."""
    name = f"/{path.lower()}"
    if any(fnmatchcase(name, pattern) for pattern in _patterns()):
        return True
    return is_link and PurePosixPath(name).name in _folders()


@cache
def _patterns() -> tuple[str, ...]:
    """Return the globs of the shipped policies that may lie in a repository, in lower case."""
    config = yaml.safe_load((policy_folders.shipped() / "config.yaml").read_text())
    return tuple(one.lower().replace("**", "*") for one in config["hook_settings"] if one.startswith("**/"))


@cache
def _folders() -> frozenset[str]:
    return frozenset(part for pattern in _patterns() for part in pattern.split("/")[:-1] if part not in ("", "*"))
