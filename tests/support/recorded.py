"""Payloads of real clients, from `tests/clients`."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "clients"


def recorded(client, file="payloads"):
    """Return a client's recorded payloads by kind."""
    return json.loads((FOLDER / client / f"{file}.json").read_text())
