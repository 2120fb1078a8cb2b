"""All parts of spawning, put together once. It does none of their work."""

import msgspec

from baton.delegate.jobs.service import Jobs
from baton.kernel.base.sql import Database
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.spawn.graphs.service import Graphs
from baton.spawn.graphs.starts import GraphSpawns
from baton.spawn.jobs import SpawnJobs
from baton.spawn.service import Spawns


class Spawning(msgspec.Struct, frozen=True, kw_only=True):
    """What the API calls; `graph_spawns` is to run while the server does."""

    spawns: Spawns
    graphs: Graphs
    graph_spawns: GraphSpawns


def spawning(organisation: str, database: Database, policies: Policies, users: Users, jobs: Jobs) -> Spawning:
    """Put the parts together; a job that ends tells its graph."""
    runs = SpawnJobs(jobs)
    spawns = Spawns(policies, runs)
    graphs = Graphs(database, spawns, users)
    jobs.on_end(graphs.job_ended)
    graph_spawns = GraphSpawns(database, graphs, spawns, runs, organisation=organisation)
    return Spawning(spawns=spawns, graphs=graphs, graph_spawns=graph_spawns)
