"""The generated TypeScript client against a live server; `make clients` compiles it before."""

import shutil
import subprocess

import pytest

from tests.clients_generated.conftest import ROOT

FOLDER = ROOT / "clients" / "typescript"


@pytest.mark.e2e
def test_a_program_on_the_client_works_through_a_session(server):
    node = shutil.which("node")
    assert node, "Node.js is needed here"
    done = subprocess.run(
        [node, "dist/usage.js", server.url, server.token],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
