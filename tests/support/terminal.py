"""A person's terminal for tests: a process with a terminal not started by an agent, for commands to connect through.

A server without tokens identifies people by the peer process of its socket. The tests have no terminal, and may
themselves run below an agent, so one process leaves their tree, takes a pseudo-terminal, and passes connections on.
`python -m tests.support.terminal FOLDER` is that process; it ends with its control connection.
"""

import atexit
import fcntl
import os
import pty
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from functools import cache
from pathlib import Path

from baton.shared.person_socket import person_socket
from tests.support.run_folder import run_folder

ROOT = Path(__file__).parents[2]


@cache
def _orders():
    """Start the terminal once per process of the tests; give its folder and the connection for orders."""
    folder = Path(tempfile.mkdtemp(prefix="baton-terminal-", dir=run_folder()))
    command = [sys.executable, "-m", "tests.support.terminal", str(folder)]
    subprocess.run(command, cwd=ROOT, env={"PATH": os.defpath}, check=True)
    for _ in range(600):
        if (folder / "ready").exists():
            break
        time.sleep(0.05)
    orders = socket.socket(socket.AF_UNIX)
    orders.connect(str(folder / "orders"))
    lines = orders.makefile("rw")
    orders.close()  # in name: it is open as long as the file
    atexit.register(lines.close)
    return folder, lines


def at_terminal(port):
    """Return a socket that is that of the server's on this port, for people, as a command at a terminal reaches it."""
    folder, orders = _orders()
    path = folder / f"{port}.sock"
    if not path.exists():
        orders.write(f"{port}\n")
        orders.flush()
        assert orders.readline() == "listening\n"
    return path


def _hand_on(path, target):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)

    def serve():
        while True:
            near, _ = listener.accept()
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(str(target))
            except OSError:
                near.close()
                continue
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def _pump(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            one.close()


def _leave():
    """Leave the tree of whoever started this, and take a terminal."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.setsid()
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)


def main():
    """Hand connections on until whoever gives the orders has gone."""
    folder = Path(sys.argv[1])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "orders"))
    listener.listen(1)
    _leave()
    (folder / "ready").touch()
    orders, _ = listener.accept()
    with orders.makefile("rw") as lines:
        for line in lines:
            _hand_on(folder / f"{line.strip()}.sock", person_socket(int(line)))
            lines.write("listening\n")
            lines.flush()


if __name__ == "__main__":
    main()
