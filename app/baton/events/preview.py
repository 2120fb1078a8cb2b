"""The preview of a prompt, visible to the whole team: secrets are masked first, then it is cut."""

from baton.events.payloads import LONGEST_PREVIEW
from baton.lib.text.masking import WINDOW, cut_at_word, mask
from baton.shared.storable import storable

_ELLIPSIS = "..."


def preview(prompt: str) -> str:
    """Return the first 100 characters of a masked prompt, or 97 and `...` of a longer one."""
    # Content after a secret longer than the window is not shown anyway, and masking time grows with the length.
    masked = mask(storable(cut_at_word(prompt, WINDOW)))
    if len(masked) <= LONGEST_PREVIEW:
        return masked
    cut = masked[: LONGEST_PREVIEW - len(_ELLIPSIS)]
    opening = cut.rfind("[masked:")
    if opening > cut.rfind("]"):
        cut = cut[:opening]  # half a mask could be taken for the value of a secret's name, and be masked again
    shown = cut + _ELLIPSIS
    # The cut can bring together what is a secret only at a text's end: then the last word goes, too.
    while mask(shown) != shown and cut:
        cut = cut[: cut.rstrip().rfind(" ") + 1] if " " in cut.rstrip() else ""
        shown = cut + _ELLIPSIS
    return shown
