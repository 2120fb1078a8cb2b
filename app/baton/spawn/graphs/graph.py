"""A stored task graph, a new one, what it broke, and how well it kept to its waves."""

from datetime import datetime
from typing import Any

import msgspec

from baton.engine.agents.compliance import WaveReport
from baton.engine.agents.task_graph import Barrier, Graph, Level, OnWindowClose, TaskSpec
from baton.spawn.jobs import Execute


class NewGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph to make. Without `on_window_close` it is `auto_spawn` if the tasks run here, else `refuse`."""

    session_id: str
    tasks: dict[str, TaskSpec]
    level: Level = "strict"
    barrier: Barrier = "wave"
    window_ms: int = 500
    on_window_close: OnWindowClose | None = None
    execute: Execute = "plan"
    workspace: str = ""
    roster: str = ""
    project: str = ""


class StoredGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph as it is stored. `roster` is "" for the team's list; `execute` says whether its tasks run as jobs."""

    id: str
    team: str
    user: str
    session_id: str
    project: str
    roster: str
    execute: str
    workspace: str
    created_at: datetime
    graph: Graph
    plans: dict[str, dict[str, Any]]


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the waves that was broken; `wave` counts from 0, `task` is "" for the whole wave.

    `refused` tells that the start was refused, otherwise it was let pass.
    """

    id: str
    graph_id: str
    wave: int
    task: str
    kind: str
    detail: str
    refused: bool
    at: datetime


class GraphCompliance(msgspec.Struct, frozen=True, kw_only=True):
    """How well a graph kept to its waves, and what it broke."""

    stored: StoredGraph
    waves: list[WaveReport]
    violations: list[Violation]
