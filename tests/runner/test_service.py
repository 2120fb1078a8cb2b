"""A runner without a terminal: in the background, by a service manager, its log, and its notices."""

import asyncio
import io
import os
import plistlib
import shutil
import signal
import subprocess
import sys

import pytest

from baton.runner import service as services
from baton.runner.home import Home
from baton.runner.service import Background, Launchd, ServiceError, Systemd, last_lines, log_of, rotate, service
from tests.runner.conftest import BATON, ended, happens

RECORD = '#!/bin/sh\nfor word in "$@"; do printf "%s|" "$word"; done >> {log}\necho >> {log}\nexit {status}\n'


def program(folder, name, status=0):
    """Make a program that records how it was called; return its record."""
    folder.mkdir(exist_ok=True)
    log = folder / f"{name}.called"
    (folder / name).write_text(RECORD.format(log=log, status=status))
    (folder / name).chmod(0o755)
    return log


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def test_a_unit_of_systemd_starts_the_runner_and_writes_its_log(tmp_path, home):
    called = program(tmp_path / "bin", "systemctl")
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin", "BATON_URL": 'http://b/?"%$\\'}
    way = service(("/my bin/baton", "runner", "run"), home, env)
    assert isinstance(way, Systemd)
    assert not way.is_installed()
    way.install()
    way.start()
    way.stop()
    unit = (tmp_path / ".config/systemd/user/baton-runner.service").read_text()
    assert 'ExecStart="/my bin/baton" "runner" "run"\n' in unit
    assert 'Environment="BATON_URL=http://b/?\\"%%$$\\\\"\n' in unit
    assert f"StandardOutput=append:{home.folder}/service.log\n" in unit
    assert "KillMode=mixed\n" in unit
    if shutil.which("systemd-analyze"):
        (tmp_path / "true.service").write_text(unit.replace("/my bin/baton", "/bin/true"))
        verify = ["systemd-analyze", "--user", "verify", str(tmp_path / "true.service")]
        done = subprocess.run(verify, capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"]})
        assert "true.service" not in done.stderr
    assert way.is_installed()
    way.uninstall()
    assert not way.is_installed()
    assert [line.split("|")[1] for line in called.read_text().splitlines()] == [
        "show-environment", "daemon-reload", "enable", "start", "stop", "disable", "daemon-reload",
    ]  # fmt: skip


def test_a_launch_agent_of_macos_starts_the_runner(tmp_path, home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    called = program(tmp_path / "bin", "launchctl")
    way = service(("baton", "runner", "run"), home, {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/bin"})
    assert isinstance(way, Launchd)
    way.install()
    way.start()
    way.stop()
    content = plistlib.loads((tmp_path / "Library/LaunchAgents/dev.baton.runner.plist").read_bytes())
    assert content["ProgramArguments"] == ["baton", "runner", "run"]
    assert content["StandardOutPath"] == str(home.folder / "service.log")
    assert [line.split("|")[0] for line in called.read_text().splitlines()] == ["bootstrap", "bootout"]


@pytest.mark.parametrize("has_program", [True, False], ids=["systemd that nobody answers", "no systemd"])
def test_without_a_service_manager_a_plain_process_runs(tmp_path, home, has_program):
    if has_program:
        program(tmp_path / "bin", "systemctl", status=1)
    way = service(("baton",), home, {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin"})
    assert isinstance(way, Background)
    assert "neither systemd nor launchd" in way.install()


async def test_a_runner_in_the_background_works_is_found_and_stopped(server, laptop, tmp_path):
    env = {**laptop.env, "PATH": os.environ["PATH"]}
    home = Home(tmp_path / "state" / "baton" / "runner")
    way = Background((BATON, "runner", "run"), home, env)
    await asyncio.to_thread(way.start)
    pid = home.running_pid()
    try:
        await asyncio.to_thread(way.start)
        assert home.running_pid() == pid > 0
        job = server.give("say done")
        assert (await ended(server, job))["output"] == "done"
        await happens(lambda: "completed" in last_lines(home, 5))
        await asyncio.to_thread(way.stop)
        await happens(lambda: home.running_pid() == 0)
    finally:
        if home.running_pid() == pid:
            os.kill(pid, signal.SIGKILL)


def test_an_immediately_ended_process_is_reported(home):
    with pytest.raises(ServiceError, match="no such thing"):
        Background(("sh", "-c", "echo no such thing; exit 1"), home, dict(os.environ)).start()


def test_a_long_log_is_rotated_and_its_end_shown(home, monkeypatch):
    assert last_lines(home, 3) == ""
    log_of(home).write_text("".join(f"{n}\n" for n in range(100)))
    rotate(home)
    assert last_lines(home, 2) == "98\n99\n"
    monkeypatch.setattr(services, "_LARGEST_LOG", 50)
    rotate(home)
    assert not log_of(home).exists()
    assert (home.folder / "service.log.1").exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("on", "display", "status"),
    [(True, ":0", 0), (True, "", 0), (False, ":0", 0), (True, ":0", 1)],
    ids=["desktop", "bell", "off", "refused"],
)
async def test_a_notice_is_shown_on_the_desktop_or_by_the_bell(tmp_path, drives, on, display, status):
    called = program(tmp_path / "bin", "notify-send", status)
    out = Terminal()
    notices = drives("runner", "Notices")({"PATH": f"{tmp_path}/bin:/bin", "DISPLAY": display}, out, on=on)
    notices.show("codex in shop", "--job_1 asks\x1b[2J " + "x" * 500)
    await happens(lambda: not notices._showing)
    shown = called.read_text() if called.exists() else ""
    assert ("codex in shop|--job_1 asks [2J " in shown) == (on and display != "")
    assert (out.getvalue() == "\a") == (on and not display)
    assert len(shown) < 300


async def test_a_question_and_an_end_notify_the_person(server, running, tmp_path, monkeypatch):
    called = program(tmp_path / "bin", "notify-send")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    job = server.give('ask {"kind": "execute", "title": "git push"}')
    async with running() as runner:
        await happens(lambda: server.asked)
        await happens(lambda: called.exists() and "asks for permission: git push" in called.read_text())
        server.command(job, "permission", permission="p1", answer="deny", by="timeout")
        await ended(server, job)
        await happens(lambda: "completed after" in called.read_text())
    assert "nobody answered the question in time; it is denied" in runner.told.getvalue()
