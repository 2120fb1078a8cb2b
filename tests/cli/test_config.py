"""The config file, read by the command line and the shim alike."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from baton.local.config import DEFAULT_URL, config_path, load, replace_file, save


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def write(env: dict[str, str], content: bytes) -> Path:
    path = config_path(env)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_with_nothing_set_the_defaults_hold(env):
    found = load(env)
    assert found.url == DEFAULT_URL
    assert found.user == subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert (found.token, found.ca_file, found.work_items_command) == ("", "", "")


@pytest.mark.parametrize(
    ("content", "url", "token"),
    [
        (b"BATON_URL=http://h:1/\nBATON_TOKEN=a=b==\n", "http://h:1", "a=b=="),
        (b"BATON_URL=http://first\nBATON_URL=http://second", "http://first", ""),
        (b"BATON_URL=\nBATON_URL=http://second", "http://second", ""),
        (b"# BATON_URL=http://no\n BATON_URL=http://no\nBATON_URL\nOTHER=1\n\n", DEFAULT_URL, ""),
        (b"BATON_URL=http://h\r\nBATON_TOKEN=t\r\n", "http://h", "t"),
        (b"\xff\xfe\nBATON_TOKEN=t", DEFAULT_URL, "t"),
    ],
)
def test_lines_are_names_and_values_and_nothing_more(env, content, url, token):
    write(env, content)
    found = load(env)
    assert (found.url, found.token) == (url, token)


def test_the_environment_wins_unless_it_is_empty(env):
    write(env, b"BATON_URL=http://file\nBATON_USER=file\n")
    found = load(env | {"BATON_URL": "http://env", "BATON_USER": ""})
    assert (found.url, found.user) == ("http://env", "file")


def test_xdg_config_home_moves_the_file(tmp_path):
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "baton" / "config"
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": ""}) == Path("/h/.config/baton/config")


def test_saving_keeps_other_lines_and_restricts_the_file_mode(env):
    path = write(env, b"# mine\nBATON_USER=old\nBATON_WORK_ITEMS_COMMAND=x\nBATON_USER=older\n")
    path.chmod(0o644)
    save({"BATON_USER": "new", "BATON_TOKEN": "t"}, env)
    assert path.read_text() == "# mine\nBATON_WORK_ITEMS_COMMAND=x\nBATON_USER=new\nBATON_TOKEN=t\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(env).user == "new"
    assert [one.name for one in path.parent.iterdir()] == ["config"]


@pytest.mark.parametrize("value", ["a\nBATON_URL=http://evil", "a\r", "a\0"])
def test_a_value_cannot_become_two_lines(env, value):
    with pytest.raises(ValueError, match="`BATON_USER` contains a line break"):
        save({"BATON_USER": value}, env)
    assert not config_path(env).exists()


def test_an_unreadable_file_is_reported(env):
    config_path(env).mkdir(parents=True)
    with pytest.raises(SystemExit, match="baton: cannot read"):
        load(env)


def test_a_failed_write_leaves_the_old_file_and_no_scrap(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fails(_: int) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, b"new", mode=0o600)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"old")]


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    replace_file(tmp_path / "link", b"new", mode=0o644)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
