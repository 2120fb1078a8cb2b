"""Reads policy folders from disk; `baton.engine.policy` loads what they hold."""

from pathlib import Path

from baton.shared import packaged


def shipped() -> Path:
    """Return the folder of the shipped policies."""
    return packaged.folder("policies")


def read(folder: Path) -> dict[str, str]:
    """Return the text of every `*.yaml` below a folder by relative path, {} for a folder that does not exist.

    Hidden files and folders are left out. In text that is not UTF-8 the bad bytes are replaced, so that loading it
    names the file and the line. Raises OSError.
    """
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.suffix in (".yaml", ".yml") and path.is_file() and not any(p.startswith(".") for p in name.parts):
            files[name.as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    return files
