"""Masking and bounds of a record's texts: each field's type declares them."""

from typing import Annotated, Literal

import msgspec

LONGEST_ID = 200  # maximum stored characters of a name or an id; no bound of a text is lower
LONGEST_PROJECT = 1_000  # maximum stored characters of a project's name, or of a path
LONGEST_COMMAND = 2_000
LONGEST_PROMPT = 32 << 10  # maximum stored bytes of a prompt, if it is stored
MOST_PATHS = 50


class TextRule(msgspec.Struct, frozen=True):
    """The declaration of a string field; every one is masked.

    Attributes:
        longest: Maximum characters (or bytes) of the masked text.
        cut: Kind of cut: after characters, before a closing ellipsis, or after bytes of UTF-8.
        most: Maximum number of texts in a field with several.
    """

    longest: int
    cut: Literal["characters", "ellipsis", "bytes"] = "characters"
    most: int = MOST_PATHS


OWN = TextRule(0)  # a string made by the server itself, such as a decision's id

Own = Annotated[str, OWN]
Name = Annotated[str, TextRule(LONGEST_ID)]
Id = Annotated[str, TextRule(LONGEST_ID)]
Path = Annotated[str, TextRule(LONGEST_PROJECT, "ellipsis")]
Command = Annotated[str, TextRule(LONGEST_COMMAND, "ellipsis")]
Prompt = Annotated[str, TextRule(LONGEST_PROMPT, "bytes")]
