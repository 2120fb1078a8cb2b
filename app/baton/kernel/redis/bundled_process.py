"""A Valkey process's interface to the system: query, identify, end."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STOP_S = 5.0  # timeout for Valkey to write its file, in seconds
_PR_SET_PDEATHSIG = 1


def dies_with_parent() -> Callable[[], None] | None:
    """Return a pre-exec function: Linux then ends the child when the server dies. None elsewhere."""
    if sys.platform != "linux":
        return None
    prctl, server, getppid, leave = ctypes.CDLL(None).prctl, os.getpid(), os.getppid, os._exit

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if getppid() != server:  # the server died in between
            leave(1)

    return ask


async def info(socket: Path) -> dict[bytes, bytes]:
    """Return Valkey's INFO; {} if it does not answer within a second."""
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(b"INFO server persistence\r\n")
                size = await reader.readline()
                text = await reader.readexactly(int(size[1:]))
            finally:
                writer.close()
    except (OSError, ValueError, EOFError, TimeoutError):
        return {}
    return {name: value for name, _, value in (line.partition(b":") for line in text.splitlines())}


async def running_at(socket: Path) -> int | None:
    """Return the process id of the Valkey at a socket."""
    pid = (await info(socket)).get(b"process_id")
    return None if pid is None else int(pid)


def named_by(pidfile: Path, socket: Path) -> int | None:
    """Return a pid file's process id, if that process is the Valkey of our socket."""
    try:
        pid = int(pidfile.read_text())
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(socket) in _command(pid) else None


def _command(pid: int) -> bytes:
    """Return a process's command line; b"" if it has ended."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""
    shown = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(shown, capture_output=True, check=False, timeout=5).stdout


async def take_down(pid: int) -> None:
    """End a Valkey. SIGTERM lets it write its file; the SIGKILL after it loses up to a second."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        deadline = time.monotonic() + STOP_S
        while _command(pid):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.01)
        else:
            return
