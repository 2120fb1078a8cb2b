"""Task graphs on two servers with one Postgres: of fifty simultaneous starts one is accepted, without remains."""

import asyncio
import signal
from collections import Counter
from contextlib import ExitStack

import httpx2
import pytest

from tests.support.server import NO_CERTIFICATES, serving, until

MINUTE_MS = 60_000
AT_ONCE = 50


class Two:
    """Two servers, and what speaks to them as one admin."""

    def __init__(self, servers):
        self.servers = servers
        token = (servers[0].home / "admin-token").read_text().strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.http = [server.client(**self.headers) for server in servers]

    def graph(self, names, **more):
        tasks = {name: {"agent_type": "Explore", "description": "Find it"} for name in names}
        body = {"session_id": "s", "tasks": tasks, "window_ms": MINUTE_MS} | more
        return self.http[0].post("/graphs", json=body).json()["id"]

    def look(self, graph, server=1):
        return self.http[server].get(f"/graphs/{graph}").json()

    async def _at_once(self, graph, names):
        async with httpx2.AsyncClient(
            headers=self.headers, timeout=60, trust_env=False, verify=NO_CERTIFICATES
        ) as http:
            urls = [f"{self.servers[number % 2].url}/graphs/{graph}/spawn" for number in range(len(names))]
            answers = [http.post(url, json={"task": name}) for url, name in zip(urls, names, strict=True)]
            return await asyncio.gather(*answers)

    def at_once(self, graph, names):
        """Start tasks at once, on one server and the other by turns; give (task, status, code) of each answer."""
        answers = asyncio.run(self._at_once(graph, names))
        return [(name, one.status_code, one.json().get("code")) for name, one in zip(names, answers, strict=True)]


@pytest.fixture(scope="module")
def two(tmp_path_factory, postgres, postgres_template, valkey_url, new_name):
    name = new_name()
    postgres.sql(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    env = {"BATON_REDIS_URL": valkey_url, "BATON_DATABASE_URL": postgres.url(name), "BATON_AUTH": "on"}
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path_factory.mktemp("races") / name, **env)) for name in "ab"]
        two = Two(servers)
        for http in two.http:
            stack.enter_context(http)
        yield two
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.slow("races fifty starts on two servers")
def test_of_fifty_starts_of_one_task_one_is_accepted(two):
    graph = two.graph(["a", "b"])
    found = Counter(two.at_once(graph, ["a"] * AT_ONCE))
    assert found == {("a", 200, None): 1, ("a", 409, "already_spawned"): AT_ONCE - 1}


@pytest.mark.slow("races fifty starts on two servers")
def test_of_fifty_starts_of_one_wave_one_a_task_is_accepted_and_made_one_job(two):
    names = [f"t{number}" for number in range(10)]
    graph = two.graph(names, execute="run")
    found = Counter(two.at_once(graph, names * 5))
    assert found == Counter(
        {(name, 200, None): 1 for name in names} | {(name, 409, "already_spawned"): 4 for name in names}
    )
    jobs = two.http[1].get("/jobs", params={"graph": graph}).json()["items"]
    assert sorted(job["task"] for job in jobs) == names
    report = two.http[1].get(f"/graphs/{graph}/compliance").json()
    assert (report["compliant"], report["waves"][0]["spawned"]) == (True, 10)


@pytest.mark.slow("waits for a window to close")
def test_remaining_tasks_start_once_on_two_servers(two):
    names = [f"t{number}" for number in range(10)]
    graph = two.graph(names, execute="run", window_ms=1)
    assert two.at_once(graph, ["t0"]) == [("t0", 200, None)]
    until(lambda: all(task["state"] == "running" for task in two.look(graph)["tasks"].values()))
    jobs = two.http[0].get("/jobs", params={"graph": graph}).json()["items"]
    assert sorted(job["task"] for job in jobs) == names


@pytest.mark.slow("waits for a lease to end")
def test_another_server_starts_a_killed_server_s_tasks(two):
    graph = two.graph(["a", "b"], window_ms=1_000, on_window_close="auto_spawn")
    first = two.servers[0]
    assert two.http[0].post(f"/graphs/{graph}/spawn", json={"task": "a"}).status_code == 200
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(60)
    until(lambda: two.look(graph)["tasks"]["b"]["state"] == "running")
    assert two.look(graph)["tasks"]["b"]["auto_spawned"]
    first.start()
    two.http[0].base_url = first.url
