"""Reads policy folders from disk. It does not judge what they hold: `app.engine.policy` does."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped() -> Path:
    """The folder of the shipped policies: inside an installed package, or beside it in a checkout."""
    inside = _PACKAGE / "_share" / "policies"
    return inside if inside.is_dir() else _PACKAGE.parent / "policies"


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
