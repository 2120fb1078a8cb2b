"""Fields that the bodies of several endpoints share."""

from typing import Annotated

from pydantic import AfterValidator, Field

BLANK_FOR_NULL = AfterValidator(lambda value: value or "")
"""Reads null as "": agents' tools send null for arguments that they leave out."""
Text = Annotated[str, Field(max_length=1_024)]
MaybeText = Annotated[Text | None, BLANK_FOR_NULL]
