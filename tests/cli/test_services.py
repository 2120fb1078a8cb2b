"""`baton runner install|start|stop|status|logs`, and the runner started by `baton delegate` with consent."""

import os
import sys

import pytest
import typer
import yaml

from baton.cli.jobs import services
from baton.local import config
from baton.local.server import ApiError
from baton.runner.home import Home
from tests.support.command_line import run
from tests.support.server import until

WAITING = {"reason": "no_runner", "detail": "none"}


@pytest.fixture
def machine(tmp_path, server, user):
    """A machine without a service manager, whose `runner.yaml` serves nothing but has a workspace."""
    file = tmp_path / ".config" / "baton" / "runner.yaml"
    file.parent.mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    file.write_text(yaml.safe_dump({"workspaces": {"shop": str(tmp_path / "shop")}, "notices": False}))
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path), "BATON_URL": server.url, "BATON_TOKEN": server.token_of(user)}
    return lambda *words: run("runner", *words, env=env, cwd=tmp_path)


def test_a_runner_service_is_installed_listed_and_stopped_with_its_log(machine, tmp_path):
    home = Home(tmp_path / ".local" / "state" / "baton" / "runner")
    assert "No runner runs here" in machine("stop").stdout
    done = machine("install")
    assert done.returncode == 0, done
    try:
        assert "neither systemd nor launchd" in done.stdout
        pid = home.running_pid()
        assert f"A runner runs already, as process {pid}" in machine("start").stdout
        assert until(lambda: f"a runner runs here, as process {pid}" in machine("status").stdout)
        assert until(lambda: "no provider in shop" in machine("logs").stdout)
        assert (home.folder / "token").stat().st_mode & 0o777 == 0o600
    finally:
        machine("stop")
    assert until(lambda: home.running_pid() == 0)
    machine("uninstall")
    assert not (home.folder / "token").exists()
    assert "no runner runs here" in machine("status").stdout


def test_without_settings_nothing_is_installed(tmp_path):
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "BATON_URL": "http://127.0.0.1:9"}
    done = run("runner", "install", env=env, cwd=tmp_path)
    assert (done.returncode, "baton runner init" in done.stderr) == (1, True)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """A person at a terminal who is asked; gives what was asked and started."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "config" / "baton").mkdir(parents=True)
    (tmp_path / "config" / "baton" / "runner.yaml").write_text("")
    happened = []
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(services, "own_doubt", lambda: "")
    monkeypatch.setattr(services, "begin", lambda _home: happened.append("started") or "a test")
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: happened.append("asked") or happened.count("asked") < 2)
    return happened


def test_the_person_is_asked_once_and_the_runner_is_started_from_then_on(asked):
    for _ in range(2):
        services.offer_start(WAITING)
    assert asked == ["asked", "started", "started"]
    assert config.stored(config.RUNNER_START) == "yes"
    services.offer_start(None)
    services.offer_start({"reason": "slots_busy"})
    assert len(asked) == 3


def test_a_no_is_kept(asked, monkeypatch):
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: asked.append("asked"))
    for _ in range(2):
        services.offer_start(WAITING)
    assert (asked, config.stored(config.RUNNER_START)) == (["asked"], "no")


@pytest.mark.parametrize("who", ["an agent", "a script"])
def test_neither_an_agent_nor_a_script_agrees_or_starts_it(asked, monkeypatch, who):
    if who == "an agent":
        monkeypatch.setattr(services, "own_doubt", lambda: "`CLAUDECODE` is set")
    else:
        monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    services.offer_start(WAITING)
    config.save({config.RUNNER_START: "yes"})
    services.offer_start(WAITING)
    assert asked == []


def test_without_permission_for_tokens_the_way_to_one_is_shown(monkeypatch, tmp_path):
    monkeypatch.delenv("BATON_TOKEN", raising=False)
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:9")
    with pytest.raises(ApiError, match=r"baton token create --user .* --role runner"):
        services._store_token(Home(tmp_path / "home"))
