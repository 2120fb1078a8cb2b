import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import served

ROOT = Path(__file__).parents[2]
TOOL = Path(sys.prefix) / "clients" / "bin"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("clients") / "home") as running:
        yield running


@pytest.fixture(scope="session")
def python_client(tmp_path_factory, server):
    """Generate the Python client from what the server says of itself, where Python finds it; give its folder."""
    assert TOOL.is_dir(), "there is no generator: `make test` installs it"
    folder = tmp_path_factory.mktemp("generated")
    document = folder / "openapi.json"
    with server.client() as http:
        document.write_text(http.get("/openapi.json").text)
    command = [TOOL / "openapi-python-client", "generate", "--path", document, "--fail-on-warning", "--meta", "none"]
    command += ["--config", ROOT / "clients/python/config.yaml", "--output-path", folder / "baton_client"]
    done = subprocess.run(
        [str(part) for part in command],
        env={"PATH": f"{TOOL}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
