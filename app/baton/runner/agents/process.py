"""An agent's process tree: started under the supervisor, ended as a whole."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_KEPT = 4_000  # maximum kept length of standard error, in characters
_MARK = "BATON_TREE"  # marks an agent's processes, to find them if all supervising processes are killed at once
_HEIR_S = 3.0  # time for the rest of the supervisor to end the tree after part of it was killed, in seconds
_END_S = 5.0  # timeout of the supervisor before its group is killed, in seconds
BUFFER = 50 * 1024 * 1024  # maximum length of an agent's line, in bytes


class ProcessTree:
    """A running agent. Its group and descendants end together, even if this process is killed."""

    def __init__(self, process: asyncio.subprocess.Process, life: int, mark: str) -> None:
        self.process = process
        self._mark = f"{_MARK}={mark}".encode()
        self._life = life
        self._errors = ""
        self._reading = asyncio.create_task(self._read_errors())
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> "ProcessTree":
        """Start a command in its own session, with pipes for standard input and output."""
        watched, life = os.pipe()
        mark = secrets.token_hex(16)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", _SUPERVISOR, str(watched), *command,
                cwd=cwd, env={**env, _MARK: mark}, pass_fds=(watched,), start_new_session=True, limit=BUFFER,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except BaseException:
            os.close(life)
            raise
        finally:
            os.close(watched)
        return cls(process, life, mark)

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """The pipe to the agent."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        return self.process.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        """The pipe from the agent."""
        assert self.process.stdout is not None  # noqa: S101 - it was asked for
        return self.process.stdout

    @property
    def last_words(self) -> str:
        """The end of the agent's standard error."""
        return self._errors.strip()

    async def exited(self) -> int:
        """Wait for the exit status. `Process.wait` also waits for pipes, possibly held by leftover processes."""
        while self.process.returncode is None:  # noqa: ASYNC110 - asyncio gives no event for it
            await asyncio.sleep(0.02)
        return self.process.returncode

    def listen(self, on: bool) -> None:  # noqa: FBT001 - on or off
        """Read the agent's output, or let its pipe fill up so that it waits."""
        # The only access to the pipe: asyncio's reader stops only at twice the maximum line length.
        pipe = self.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]  # noqa: SLF001
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            (pipe.resume_reading if on else pipe.pause_reading)()

    def interrupt(self) -> None:
        """Send SIGINT to the agent's group, like Ctrl-C. The supervisor ignores it."""
        self._signal(signal.SIGINT)

    async def end(self) -> None:
        """End all remaining processes and wait for their end. May be called twice."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.listen(True)  # noqa: FBT003 - or the end of the pipe is never read
        try:
            await asyncio.wait_for(self.exited(), _END_S)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self.exited()
        await self._watching
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _watch(self) -> None:
        """End the rest of the tree if the supervisor itself was killed."""
        if await self.exited() >= 0:
            return
        until = asyncio.get_running_loop().time() + _HEIR_S
        while self._has_group() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110 - its other half ends the tree
            await asyncio.sleep(0.05)
        self._signal(signal.SIGKILL)
        await asyncio.to_thread(_kill_marked, self._mark)

    def _has_group(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    async def _read_errors(self) -> None:
        stream = self.process.stderr
        while stream is not None and (data := await stream.read(65_536)):
            self._errors = (self._errors + data.decode("utf-8", "replace"))[-_KEPT:]


def _kill_marked(mark: bytes) -> None:
    """Kill all processes with a variable in their environment. Only Linux shows it."""
    for _ in range(100):  # the next pass finds processes started meanwhile
        found = False
        for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found = True
                    os.kill(int(entry.name), signal.SIGKILL)
        if not found:
            return
