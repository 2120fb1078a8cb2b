"""Whether the server starts, answers or leaves. Streams, polls and `/readyz` go by it."""

from typing import Literal

Phase = Literal["starting", "ready", "draining"]


class Lifecycle:
    """The phase of one server process."""

    def __init__(self) -> None:
        self.phase: Phase = "starting"
