"""All parts of spawning, put together once. It does none of their work."""

import msgspec

from app.services.graph_spawns import GraphSpawns
from app.services.graphs import Graphs
from app.services.jobs import Jobs
from app.services.policies import Policies
from app.services.spawn import Spawns
from app.services.spawn_jobs import SpawnJobs
from app.services.users import Users
from app.store.sql import Database


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
