"""Keeps `baton runner run` running for a person: by systemd or launchd, or as a plain process in the background where neither is."""

import contextlib
import os
import plistlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from baton.runner.home import Home

UNIT = "baton-runner.service"
LABEL = "dev.baton.runner"
STOP_S = 330
"""How long running jobs may take after a stop before the service manager kills the runner, in seconds."""
_BEGIN_S = 20.0
_LARGEST_LOG = 1 << 20
_PASSED = ("PATH", "BATON_URL", "BATON_USER", "BATON_CA_FILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "LANG")
"""What a service manager passes on of the environment in which the service was installed."""


class ServiceError(Exception):
    """The service manager refused; the text is its own."""


class Service(Protocol):
    """One way to keep the runner running.

    Attributes:
        name: The way, in a word for people.
    """

    name: str

    def install(self) -> str:
        """Register the runner to start with the session; return what was written, or why nothing was."""

    def uninstall(self) -> None:
        """Stop the runner and take everything back."""

    def is_installed(self) -> bool:
        """Return whether `install` was done."""

    def start(self) -> None:
        """Start the runner if it does not run. Raise ServiceError."""

    def stop(self) -> None:
        """Ask the runner to end; its jobs may end first. Raise ServiceError."""


class Systemd:
    """A user unit of systemd."""

    name = "systemd"

    def __init__(self, command: Sequence[str], home: Home, env: Mapping[str, str]) -> None:
        self._command, self._home, self._env = command, home, env
        config = Path(env.get("XDG_CONFIG_HOME") or Path(env["HOME"]) / ".config")
        self._unit = config / "systemd" / "user" / UNIT

    def install(self) -> str:
        """Write the unit and enable it."""
        log = log_of(self._home)
        passed = [f"Environment={_quoted(f'{name}={self._env[name]}')}" for name in _PASSED if self._env.get(name)]
        lines = (
            "[Unit]",
            "Description=Baton runner: runs the jobs that you delegate",
            "[Service]",
            f"ExecStart={' '.join(map(_quoted, self._command))}",
            *passed,
            "Restart=on-failure",
            "RestartSec=10",
            # Only the runner gets SIGTERM: its agents are ended by it, after they had time.
            "KillMode=mixed",
            f"TimeoutStopSec={STOP_S}",
            f"StandardOutput=append:{log}",
            f"StandardError=append:{log}",
            "[Install]",
            "WantedBy=default.target",
        )
        self._unit.parent.mkdir(parents=True, exist_ok=True)
        self._unit.write_text("".join(f"{line}\n" for line in lines))
        self._systemctl("daemon-reload")
        self._systemctl("enable", UNIT)
        return f"wrote `{self._unit}`"

    def uninstall(self) -> None:
        """Stop and disable the unit, and remove it."""
        with contextlib.suppress(ServiceError):
            self._systemctl("disable", "--now", UNIT)
        self._unit.unlink(missing_ok=True)
        self._systemctl("daemon-reload")

    def is_installed(self) -> bool:
        """Return whether the unit is there."""
        return self._unit.exists()

    def start(self) -> None:
        """Start the unit."""
        rotate(self._home)
        self._systemctl("start", UNIT)

    def stop(self) -> None:
        """Stop the unit; the command returns at once, the runner ends when its jobs have."""
        self._systemctl("stop", "--no-block", UNIT)

    def _systemctl(self, *arguments: str) -> None:
        _run(("systemctl", "--user", *arguments), self._env)


class Launchd:
    """A launch agent of macOS."""

    name = "launchd"

    def __init__(self, command: Sequence[str], home: Home, env: Mapping[str, str]) -> None:
        self._command, self._home, self._env = command, home, env
        self._plist = Path(env["HOME"]) / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def install(self) -> str:
        """Write the property list."""
        log = str(log_of(self._home))
        content = {
            "Label": LABEL,
            "ProgramArguments": list(self._command),
            "EnvironmentVariables": {name: self._env[name] for name in _PASSED if self._env.get(name)},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ExitTimeOut": STOP_S,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
        self._plist.parent.mkdir(parents=True, exist_ok=True)
        self._plist.write_bytes(plistlib.dumps(content))
        return f"wrote `{self._plist}`"

    def uninstall(self) -> None:
        """Unload the agent and remove its property list."""
        with contextlib.suppress(ServiceError):
            self.stop()
        self._plist.unlink(missing_ok=True)

    def is_installed(self) -> bool:
        """Return whether the property list is there."""
        return self._plist.exists()

    def start(self) -> None:
        """Load the agent, which starts it."""
        rotate(self._home)
        _run(("launchctl", "bootstrap", f"gui/{os.getuid()}", str(self._plist)), self._env)

    def stop(self) -> None:
        """Unload the agent, which ends it; it comes back with the next login, or by `start`."""
        _run(("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}"), self._env)


class Background:
    """A plain process: it does not outlive a restart of the machine, and nobody starts it again if it dies."""

    name = "a background process"

    def __init__(self, command: Sequence[str], home: Home, env: Mapping[str, str]) -> None:
        self._command, self._home, self._env = command, home, env

    def install(self) -> str:
        """Do nothing but say so: there is no service manager."""
        return (
            "there is neither systemd nor launchd for you here: the runner is a plain process in the background,"
            " which is not started again by itself"
        )

    def uninstall(self) -> None:
        """Stop the process."""
        self.stop()

    def is_installed(self) -> bool:
        """Return False: there is nothing that could be installed."""
        return False

    def start(self) -> None:
        """Start the process, and return when it runs."""
        if self._home.running_pid():
            return
        rotate(self._home)
        # A shell starts it and ends, so that it is nobody's child whose end somebody would have to collect.
        line = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'
        done = subprocess.run(
            ("/bin/sh", "-c", line, "sh", str(log_of(self._home)), *self._command),
            cwd=self._home.folder, env=dict(self._env), start_new_session=True, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        pid, end = int(done.stdout), time.monotonic() + _BEGIN_S
        while self._home.running_pid() != pid and time.monotonic() < end:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                raise ServiceError(f"it ended at once: {last_lines(self._home, 3).strip()}") from None
            time.sleep(0.05)

    def stop(self) -> None:
        """Send SIGTERM to the process that runs."""
        if pid := self._home.running_pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def service(command: Sequence[str], home: Home, env: Mapping[str, str]) -> Service:
    """Return the way that this machine has to keep a runner running."""
    path = env.get("PATH")
    if sys.platform == "darwin" and shutil.which("launchctl", path=path):
        return Launchd(command, home, env)
    if shutil.which("systemctl", path=path):
        with contextlib.suppress(ServiceError):  # in a container there is often the program but nobody who answers it
            _run(("systemctl", "--user", "show-environment"), env)
            return Systemd(command, home, env)
    return Background(command, home, env)


def log_of(home: Home) -> Path:
    """Return the path of the service's log."""
    return home.folder / "service.log"


def last_lines(home: Home, count: int) -> str:
    """Return the end of the log, "" if there is none."""
    try:
        with log_of(home).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LARGEST_LOG, 0))
            lines = file.read().decode("utf-8", "replace").splitlines(keepends=True)
    except FileNotFoundError:
        return ""
    return "".join(lines[-count:])


def rotate(home: Home) -> None:
    """Begin a new log if it is long; the one before is kept."""
    log = log_of(home)
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        log.replace(log.with_suffix(".log.1"))


def _run(command: Sequence[str], env: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            command, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServiceError(f"`{' '.join(command)}`: {error}") from None
    if done.returncode:
        raise ServiceError(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip() or done.returncode}")


def _quoted(text: str) -> str:
    """Return a word as systemd.syntax(7) reads it; `%` and `$` stand for themselves."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
