"""Reads policy folders from disk, for `baton.rules.policy`."""

from pathlib import Path

from baton.shared import packaged


def shipped() -> Path:
    """Return the folder of the shipped policies."""
    return packaged.folder("policies")


def read(folder: Path) -> dict[str, str]:
    """Return the text of every visible `*.yaml` below a folder by relative path. Raise OSError.

    {} for a missing folder. Invalid UTF-8 is replaced, so that loading reports file and line.
    """
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.suffix in (".yaml", ".yml") and path.is_file() and not any(p.startswith(".") for p in name.parts):
            files[name.as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    return files
