"""A server answering the shim in every good and bad way, and the call of the shim."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

HOOKS = Path(__file__).parents[2] / "hooks"
_ASKED = [["sh"], ["busybox", "sh"], ["bash", "--posix"], ["dash"]]
SHELLS = {os.path.realpath(program): words for words in _ASKED if (program := shutil.which(words[0]))}
"""The shells of this machine by their programs, each program once: `sh` is one of the others on most machines."""
PYTHON = [str(Path(sys.executable).with_name("baton")), "hook"]
"""`baton hook`, which does what the shim does where there is no POSIX shell."""
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"caf\xc3\xa9 $(id) \\n \\"q\\" %s"}}'


class Seen(NamedTuple):
    """A request as it arrived; header names in lower case, values as bytes."""

    path: str
    headers: dict[str, bytes]
    body: bytes


class Ran(NamedTuple):
    code: int
    out: bytes
    err: bytes


class Scripted:
    """A loopback server: `reply` gets the socket and writes whatever it likes."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.reply: Callable[[socket.socket], None] = answers()
        self.leave = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value.encode("latin-1") for name, value in self.headers._headers}
                outer.seen.append(Seen(self.path, headers, body))
                outer.reply(self.connection)
                self.close_connection = True

            do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def hangs(self, before: bytes = b"") -> Callable[[socket.socket], None]:
        def reply(connection: socket.socket) -> None:
            connection.sendall(before)
            self.leave.wait(60)

        return reply

    def close(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def answers(
    body: bytes = ANSWER, status: str = "200 OK", headers: bytes = b"", length: int | None = None, wait: float = 0
) -> Callable[[socket.socket], None]:
    """Write one HTTP answer; a `length` that differs from the body's makes it a truncated one."""
    size = len(body) if length is None else length

    def reply(connection: socket.socket) -> None:
        time.sleep(wait)
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n".encode() + headers + b"\r\n" + body)

    return reply


def with_its_own_path(folder: Path) -> Path:
    """Return a folder with a shim that takes programs from the PATH of its environment first."""
    folder.mkdir()
    for file in HOOKS.glob("*.sh"):
        (folder / file.name).write_text(file.read_text().replace("PATH=/usr/bin:/bin:$PATH", "PATH=$PATH"))
    return folder


def run_shim(
    shell: list[str],
    env: dict[str, str],
    cwd: Path,
    *arguments: str,
    body: bytes = b"{}",
    hooks: Path = HOOKS,
    later: Mapping[str, str] = {},
) -> Ran:
    """Run the shim as a client does: one that was started with `env`, and has set `later` since."""
    words = arguments or ("claude-code", "PreToolUse")
    script = [] if shell == PYTHON else [str(hooks / "baton-hook.sh")]
    client = ["timeout", "--foreground", "120"]  # it is the process above, as a client is
    project = ["env", *(f"{name}={value}" for name, value in later.items())] if later else []
    done = subprocess.run(
        [*client, *project, *shell, *script, *words],
        input=body,
        env=env,
        cwd=cwd,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
