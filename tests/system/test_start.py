"""A server's imports until it listens. Each of these costs a start (and each worker's) too much."""

import json
import subprocess
import sys

import pytest

LEFT_OUT = {
    "alembic": "the schema is up to date at most starts",
    "rich": "for people at terminals",
    "pygments": "for people at terminals",
    "valkey": "the client of a package that we take a binary from",
    "confluent_kafka": "only with BATON_KAFKA_URL",
    "opentelemetry.exporter": "only in the process that stores, with BATON_OTEL_ENDPOINT",
    "mcp": "a tool's",
    "typer.rich_utils": "for people at terminals",
    "wordllama": "the word vectors are read without it",
    "hypothesis": "a test's",
}
MOST_MODULES = 1_900
"""About a tenth more than it is today: what goes over it wants a look at `python -X importtime -m baton.serve.worker`."""

PROGRAM = """
import sys, json
from baton.serve.warm import warm
warm()
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.slow("starts commands")
def test_a_start_imports_no_more_than_it_needs():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    modules = json.loads(found.stdout)
    needless = {name: why for name, why in LEFT_OUT.items() if name in modules}
    assert needless == {}
    assert len(modules) <= MOST_MODULES, len(modules)
