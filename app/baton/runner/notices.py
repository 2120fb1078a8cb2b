"""Tells the person at the machine that a job asks for leave or has ended: on the desktop, else by the terminal's bell."""

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

from baton.runner.progress import plain

_LIMIT_S = 5.0
_LONGEST = 200


class Notices:
    """Shows notices in the background; one that cannot be shown is no error."""

    def __init__(self, env: Mapping[str, str], out: TextIO, *, on: bool) -> None:
        self._env = env
        self._out = out
        self._on = on
        self._showing: set[asyncio.Task[None]] = set()

    def show(self, title: str, text: str) -> None:
        """Show a notice, unless the person has switched them off."""
        if not self._on:
            return
        command = self._command(plain(title), plain(text)[:_LONGEST])
        if command is None:
            if self._out.isatty():
                self._out.write("\a")
                self._out.flush()
            return
        task = asyncio.create_task(self._run(command))
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    def _command(self, title: str, text: str) -> list[str] | None:
        path = self._env.get("PATH")
        if sys.platform == "darwin":
            script = f"display notification {json.dumps(text)} with title {json.dumps(title)}"
            return ["osascript", "-e", script] if shutil.which("osascript", path=path) else None
        has_desktop = any(self._env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"))
        program = shutil.which("notify-send", path=path) if has_desktop else None
        return [program, "--app-name=Baton", "--", title, text] if program else None

    async def _run(self, command: list[str]) -> None:
        quiet = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=dict(self._env), stdin=quiet, stdout=quiet, stderr=quiet
            )
        except OSError:
            return
        try:
            await asyncio.wait_for(process.wait(), _LIMIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
