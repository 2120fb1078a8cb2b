"""What is really installed: on this server, which it knows itself, and on a caller's machine, which its shim says.

Both only add to the paths that config.yaml names.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import psutil

from baton.kernel.base.pause import pause
from baton.kernel.base.settings import Settings
from baton.shared import packaged
from baton.shared.person_socket import person_socket

FIRST_S = 0.1
REFRESH_S = 15.0
"""Seconds between looks at the server's own processes: Valkey, the drain and workers are started anew when they die."""
_MOST_CALLERS = 1_024


class Installation:
    """The installed paths as `verdict.Facts` has them, for each set of paths that a machine names."""

    def __init__(self, settings: Settings, *, is_worker: bool) -> None:
        self._paths = _own_paths(settings)
        self._is_worker = is_worker
        self._known: dict[tuple[str, ...], str] = {}
        self._own = ""
        self.refresh()

    async def run(self, stop: asyncio.Event) -> None:
        """Look at the server's processes now and then. The port is bound once the server listens, right after the start."""
        wait = FIRST_S
        while not stop.is_set():
            await pause(stop, wait)
            await asyncio.to_thread(self.refresh)
            wait = min(wait * 2, REFRESH_S)

    def refresh(self) -> None:
        """Look at the server's processes again."""
        lines = [*self._paths, *(f"process\t{number}" for number in self._numbers())]
        own = "\n".join(lines)
        if own != self._own:
            self._own = own
            self._known.clear()

    def of(self, elsewhere: tuple[str, ...]) -> str:
        """Return what is installed, with the paths that the caller's machine has elsewhere than usual."""
        known = self._known.get(elsewhere)
        if known is None:
            known = "\n".join([self._own, *(f"hook_settings\t{path}" for path in elsewhere)])
            if len(self._known) >= _MOST_CALLERS:
                self._known.clear()
            self._known[elsewhere] = known
        return known

    def _numbers(self) -> list[int]:
        """Return the port and the processes of this server, in order: the same ones must give the same text."""
        own = psutil.Process()
        found = {own.pid}
        with contextlib.suppress(psutil.Error):  # one of them has just ended
            found |= {one.laddr.port for one in own.net_connections("tcp") if one.status == psutil.CONN_LISTEN}
            top = psutil.Process(os.getppid()) if self._is_worker else own
            found |= {top.pid, *(child.pid for child in top.children(recursive=True))}
        return sorted(found)


def _own_paths(settings: Settings) -> list[str]:
    package = Path(__file__).resolve().parents[1]
    hooks = packaged.folder("hooks")
    # Run from a checkout, its top is told: who works on Baton itself has asked to change these files.
    checkout = "" if hooks.is_relative_to(package) else str(hooks.parent)
    home, policies = settings.home.resolve(), settings.policies.resolve()
    found = [("baton_home", home, ""), ("hook_settings", package, checkout), ("hook_settings", hooks, checkout)]
    found.append(("hook_settings", packaged.folder("policies"), checkout))
    found.append(("hook_settings", person_socket(settings.port).parent, ""))
    if not policies.is_relative_to(home):
        found.append(("hook_settings", policies, checkout))
    if sys.prefix != sys.base_prefix:
        found.append(("hook_settings", Path(sys.prefix), checkout))
    return ["\t".join(filter(None, (place, str(path), top))) for place, path, top in found if "\n" not in str(path)]
