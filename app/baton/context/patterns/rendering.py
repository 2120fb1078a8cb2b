"""Patterns as lines of the section "Context Patterns"."""

from collections.abc import Sequence

from baton.context.patterns.pattern import Pattern

HEADING = "Context Patterns"
_INTRO = "What this team has learned. Follow it unless the person says otherwise."


def percent(confidence: float) -> str:
    """Return a confidence as whole percents."""
    return f"{confidence * 100:.0f}%"


def rendered(patterns: Sequence[Pattern], longest: int) -> tuple[str, list[Pattern]]:
    """Return the section's text, and the patterns that are in it; both empty if there is no room for one.

    Patterns are taken in their order. One that there is no room for is left out whole, and smaller ones behind it may stay.

    Args:
        patterns: What to show, the most worth first.
        longest: The most characters and the most bytes of UTF-8 that the text may have.
    """
    lines, shown = [_INTRO, ""], list[Pattern]()
    left = longest - _size(_INTRO) - 1
    for one in patterns:
        line = _line(one)
        if _size(line) + 1 <= left:
            left -= _size(line) + 1
            lines.append(line)
            shown.append(one)
    return ("\n".join(lines), shown) if shown else ("", [])


def _line(pattern: Pattern) -> str:
    head = f"- **{pattern.signature}** ({percent(pattern.confidence)} confidence)"
    # Indented, the text's own lines stay within the item.
    return head + (": " + pattern.text.replace("\n", "\n  ") if pattern.text else "")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
