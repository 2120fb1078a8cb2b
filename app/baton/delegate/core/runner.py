"""A runner, and the commands that wait for it."""

from datetime import datetime
from typing import Any

import msgspec


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs jobs. `slots` were free and `active` jobs were leased to it at its last poll.

    `folders` names the folder of each workspace, so that runners of one machine name one folder alike, and a folder's name
    is the beginning of the names of those in it (`baton.runner.folders`).
    """

    organisation: str
    user: str
    id: str
    team: str
    boot_id: str
    name: str
    version: str
    providers: tuple[str, ...]
    workspaces: tuple[str, ...]
    folders: dict[str, str]
    slots: int
    active: int
    shared: bool
    last_seen: datetime


class RunnerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """An order to a runner: `cancel` a job, pass on the answer to a `permission` request, or do something with a `result`."""

    id: str
    job: str
    attempt: int
    kind: str
    body: dict[str, Any]
