"""The whole API tried from its own document: no 500, no undocumented status, every answer as its schema says."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.server import serving

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def test_the_api_keeps_what_its_document_says(tmp_path):
    with serving(tmp_path / "home", BATON_ADMIN_PER_MINUTE="0", BATON_EXPENSIVE_PER_MINUTE="0") as server:
        command = [str(SCHEMATHESIS), "run", f"{server.url}/openapi.json", "--checks", CHECKS, "--max-examples", "3"]
        command += ["--mode", "all", "--workers", "2", "--seed", "1", "--generation-database", "none", "--no-color"]
        done = subprocess.run(
            command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
