"""`baton context` as an admin runs it, against a real server."""

import json

import pytest

from tests.support.command_line import clean_environment, run


@pytest.fixture
def baton(server, tmp_path):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url)
    return lambda *words: run("context", *words, env=env, cwd=tmp_path)


def test_a_source_is_switched_off_and_on(baton):
    assert "similarity is off for everybody." in baton("off", "similarity", "--reason", "hardly used").stdout
    shown = {one["source"]: one["off"] for one in json.loads(baton("sources", "--json").stdout)}
    assert (shown["similarity"], shown["patterns"]) == (True, False)
    assert "similarity is on for team web." in baton("on", "similarity", "--team", "web").stdout
    assert "similarity is on for everybody." in baton("on", "similarity").stdout
    assert "did you mean `similarity`" in baton("off", "similarty").stderr


def test_use_is_shown(baton):
    assert baton("usage").returncode == 0
    assert isinstance(json.loads(baton("usage", "--since", "1d", "--json").stdout), list)


def test_a_handler_inside_is_refused_and_one_outside_registered_and_removed(baton):
    assert "internal address" in baton("handlers", "add", "docs", "http://127.0.0.1:9/").stderr
    assert "No handlers." in baton("handlers", "list").stdout
    assert "there is no handler `docs`" in baton("handlers", "remove", "docs").stderr
