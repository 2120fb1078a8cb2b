"""Reads policy folders from disk. It does not judge what they hold: `baton.engine.policy` does."""

from pathlib import Path

from baton.shared import packaged


def shipped() -> Path:
    """Return the folder of the shipped policies."""
    return packaged.folder("policies")


def read(folder: Path) -> dict[str, str]:
    """The text of every `*.yaml` below a folder, by relative path; nothing for a folder that does not exist.

    Hidden files and folders are left out. Text that is no UTF-8 is kept with its bad bytes replaced, so that it
    is refused by name and line. Raises OSError.
    """
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.suffix in (".yaml", ".yml") and path.is_file() and not any(p.startswith(".") for p in name.parts):
            files[name.as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    return files
