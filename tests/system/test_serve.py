"""`baton serve` as a person starts it: what it refuses, in words."""

import os
import socket
import subprocess

import pytest

from tests.support.forge import forge
from tests.support.server import BATON


def serve(tmp_path, **env):
    return forge.run(["serve"], env=os.environ | {"BATON_HOME": str(tmp_path / "home")} | env, timeout=120)


BAD = [
    ({"PORT": "http"}, 2, "`PORT` is `http`"),
    ({"PORT": "70000"}, 2, "`PORT`"),
    ({"BATON_ON_FAILURE": "panic"}, 2, "`BATON_ON_FAILURE` is `panic`"),
    ({"BATON_HOST": "0.0.0.0", "BATON_AUTH": "off", "PORT": "0"}, 2, "`BATON_HOST` is `0.0.0.0`"),
    ({"BATON_DATABASE_URL": "sqlite:///x.db", "BATON_AUTH": "off", "PORT": "0"}, 2, "`BATON_DATABASE_URL` names"),
    ({"BATON_DATABASE_URL": "mysql://x/y", "PORT": "0"}, 3, "mysql"),
    ({"BATON_HOME": "/dev/null", "PORT": "0"}, 3, "`BATON_HOME` is `/dev/null`"),
    ({"BATON_DATABASE_URL": "mysql://x/y", "PORT": "0", "BATON_WORKERS": "2"}, 3, "mysql"),
]


@pytest.mark.parametrize(("env", "code", "said"), BAD, ids=[str(row[0]) for row in BAD])
def test_bad_settings_are_refused_in_words(tmp_path, env, code, said):
    found = serve(tmp_path, **env)
    assert (found.returncode, "Traceback" in found.stderr) == (code, False), found.stderr
    assert said in found.stderr


def test_a_taken_port_is_named(tmp_path):
    """As a person starts it: a process of its own from nothing, on a folder that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        env = os.environ | {"BATON_HOME": str(tmp_path / "home"), "PORT": str(port)}
        found = subprocess.run([BATON, "serve"], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 1
    assert f":{port}" in found.stderr
