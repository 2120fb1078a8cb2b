"""Builds spawning: permitted starts of agents, and task graphs."""

import msgspec

from baton.delegate.jobs.service import Jobs
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.machines.inventories import Inventories
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.spawn.graphs.service import Graphs
from baton.spawn.graphs.starts import GraphSpawns
from baton.spawn.service import Spawns


class SpawnFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services of spawning."""

    spawns: Spawns
    graphs: Graphs
    graph_spawns: GraphSpawns


def build(kernel: Kernel, *, users: Users, policies: Policies, jobs: Jobs, inventories: Inventories) -> SpawnFeature:
    """Build the services; the end of a job also ends its task in the graph."""
    spawns = Spawns(policies, jobs, inventories)
    graphs = Graphs(kernel.database, spawns, users)
    jobs.on_end(graphs.job_ended)
    graph_spawns = GraphSpawns(kernel.database, graphs, spawns, jobs, organisation=kernel.organisation)
    # The period finds windows opened by a process that has died.
    kernel.every(PeriodicTask("task graphs", 10, lambda _: graph_spawns.start_due(), wake=graph_spawns.closing))
    return SpawnFeature(spawns=spawns, graphs=graphs, graph_spawns=graph_spawns)
