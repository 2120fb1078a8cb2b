"""An agent's own file, and the model that an agent gets, with who decided it."""

from typing import Literal

import msgspec

Step = Literal["call", "agent-file", "team-row", "shipped-roster", "default", "none"]
"""What decided, in the order in which they are asked; `none` where nothing names a model."""
Source = Literal["project", "user", "plugin", "managed"]
"""Whose file describes an agent: the project's, the person's, a plugin's, or that of the machine's administrator."""


class OwnAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent as its file on the caller's machine describes it; `model` is "" where the file names none."""

    name: str
    description: str = ""
    model: str = ""
    source: Source = "user"
    path: str = ""


class ModelChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model that an agent gets.

    `name` is what is set in the client's call, one of `MODELS`, or "" for a call that is left alone. `full` is what a
    command line takes, a full id included, or "" for the client's own default. `reason` says who decided, in one line.
    """

    name: str = ""
    full: str = ""
    step: Step = "none"
    reason: str = ""
