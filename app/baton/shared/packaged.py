"""The folders of the repository that ship with the package: policies, hooks, migrations."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return a shipped folder: `_share/` inside an installed package, the top level of a checkout otherwise."""
    inside = _PACKAGE / "_share" / name
    return inside if inside.is_dir() else _PACKAGE.parents[1] / name
