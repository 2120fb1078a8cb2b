"""A stored task graph, a new one, its violations and its compliance."""

from datetime import datetime
from typing import Any

import msgspec

from baton.rules.agents.task_graph import Barrier, Graph, Level, OnWindowClose, TaskSpec, WaveReport
from baton.spawn.service import Execute


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
    """A stored graph. `roster` is "" for the team's list; `execute` selects whether its tasks run as jobs."""

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
    """A broken rule of the waves. `refused`: the start was refused, not only counted."""

    id: str
    graph_id: str
    wave: int  # counts from 0
    task: str  # "" for the whole wave
    kind: str
    detail: str
    refused: bool
    at: datetime


class GraphCompliance(msgspec.Struct, frozen=True, kw_only=True):
    """The compliance of a graph's waves, and its violations."""

    stored: StoredGraph
    waves: list[WaveReport]
    violations: list[Violation]
