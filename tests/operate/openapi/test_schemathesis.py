"""The whole API tried from its own document: no 500, no undocumented status, every answer as its schema says."""

import os
import subprocess
from pathlib import Path

import pytest

from bench.soak.odd_requests import PATIENT, SETTINGS, command, counted
from tests.support.server import serving

SHORT = Path(__file__).with_name("schemathesis.toml")
"""Added to the settings of `bench/soak`."""
pytestmark = pytest.mark.slow("makes more than a thousand requests, each by a generator")


def test_the_api_keeps_what_its_document_says(tmp_path):
    with serving(tmp_path / "home", **PATIENT) as server:
        document = tmp_path / "openapi.json"
        with server.client() as http:  # Schemathesis itself waits no longer than ten seconds for it
            document.write_text(http.get("/openapi.json").text)
        settings = tmp_path / "short.toml"
        settings.write_text(SETTINGS.read_text() + SHORT.read_text())
        words = [*command(str(document), examples=1, seed=1, settings=settings), "--url", server.url]
        done = subprocess.run(
            words, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=900, check=False
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert counted(done.stdout) > 1_000
