"""Replay and policy builds read command lines in threads of their own, beside the loop."""

import subprocess
import sys

import pytest

# In a process of its own: what went wrong here killed it.
READS = """
import sys
from concurrent.futures import ThreadPoolExecutor

from baton.lib.bash.tables import tables
from baton.lib.bash.read import read

sys.setswitchinterval(1e-5)
TABLES = tables.build({})
LONG = [f'for i in {n}; do echo "$(ls -la | grep a{n})" && rm -rf $x; done; ' * 10 for n in range(40)]
alone = [read(TABLES, text) for text in LONG]
with ThreadPoolExecutor(3) as threads:
    assert list(threads.map(lambda text: read(TABLES, text), LONG * 3)) == alone * 3
"""


@pytest.mark.slow("reads long lines in a process of its own")
def test_long_lines_are_read_by_several_threads_at_once():
    done = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
