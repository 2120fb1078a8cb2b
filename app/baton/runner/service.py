"""Keeps `baton runner run` running: by systemd, launchd, or as a plain background process."""

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
STOP_S = 330  # time for running jobs after a stop before the service manager kills the runner, in seconds
_BEGIN_S = 20.0
_LARGEST_LOG = 1 << 20
_PASSED = ("PATH", "BATON_URL", "BATON_USER", "BATON_CA_FILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "LANG")
"""Variables copied from the installing environment to the service."""


class ServiceError(Exception):
    """The service manager failed. The message is its own."""


class Service(Protocol):
    """One way to keep the runner running. `name` is its display name."""

    name: str

    def install(self) -> str:
        """Register the runner to start with the session. Describe the result."""

    def uninstall(self) -> None:
        """Stop the runner and undo the installation."""

    def is_installed(self) -> bool:
        """Return whether it is installed."""

    def start(self) -> None:
        """Start the runner unless it runs. Raise ServiceError."""

    def stop(self) -> None:
        """Ask the runner to end after its jobs. Raise ServiceError."""


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
            # Only the runner gets SIGTERM: it ends its agents after a grace period.
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
        """Return whether the unit exists."""
        return self._unit.exists()

    def start(self) -> None:
        """Start the unit."""
        rotate(self._home)
        self._systemctl("start", UNIT)

    def stop(self) -> None:
        """Stop the unit without waiting. The runner ends after its jobs."""
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
        """Return whether the property list exists."""
        return self._plist.exists()

    def start(self) -> None:
        """Load the agent. This starts it."""
        rotate(self._home)
        _run(("launchctl", "bootstrap", f"gui/{os.getuid()}", str(self._plist)), self._env)

    def stop(self) -> None:
        """Unload and end the agent until the next login or `start`."""
        _run(("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}"), self._env)


class Background:
    """A plain process: nobody restarts it after a crash or a reboot."""

    name = "a background process"

    def __init__(self, command: Sequence[str], home: Home, env: Mapping[str, str]) -> None:
        self._command, self._home, self._env = command, home, env

    def install(self) -> str:
        """Only explain that there is no service manager."""
        return (
            "neither systemd nor launchd is available: the runner is a plain background process"
            ", without automatic restarts"
        )

    def uninstall(self) -> None:
        """Stop the process."""
        self.stop()

    def is_installed(self) -> bool:
        """Return False: nothing can be installed."""
        return False

    def start(self) -> None:
        """Start the process, and return when it runs."""
        if self._home.running_pid():
            return
        rotate(self._home)
        # A short-lived shell starts it, so that no process must reap it.
        line = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'
        done = subprocess.run(
            ("/bin/sh", "-c", line, "sh", str(log_of(self._home)), *self._command),
            cwd=self._home.folder, env=dict(self._env), start_new_session=True, stdout=subprocess.PIPE, check=True
        )  # fmt: skip
        pid, end = int(done.stdout), time.monotonic() + _BEGIN_S
        while self._home.running_pid() != pid and time.monotonic() < end:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                raise ServiceError(f"it ended at once: {last_lines(self._home, 3).strip()}") from None
            time.sleep(0.05)

    def stop(self) -> None:
        """Send SIGTERM to the running process."""
        if pid := self._home.running_pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def service(command: Sequence[str], home: Home, env: Mapping[str, str]) -> Service:
    """Return this machine's way to keep a runner running."""
    path = env.get("PATH")
    if sys.platform == "darwin" and shutil.which("launchctl", path=path):
        return Launchd(command, home, env)
    if shutil.which("systemctl", path=path):
        with contextlib.suppress(ServiceError):  # containers often have the program but no service
            _run(("systemctl", "--user", "show-environment"), env)
            return Systemd(command, home, env)
    return Background(command, home, env)


def log_of(home: Home) -> Path:
    """Return the path of the service's log."""
    return home.folder / "service.log"


def last_lines(home: Home, count: int) -> str:
    """Return the last lines of the log, or ""."""
    try:
        with log_of(home).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LARGEST_LOG, 0))
            lines = file.read().decode("utf-8", "replace").splitlines(keepends=True)
    except FileNotFoundError:
        return ""
    return "".join(lines[-count:])


def rotate(home: Home) -> None:
    """Start a new log if it is long. Keep the previous one."""
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
    """Quote a word for systemd.syntax(7), with literal `%` and `$`."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
