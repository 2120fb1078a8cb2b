"""The process holding a token for one terminal, with real processes and terminals."""

import json
import os
import subprocess
import sys
import time

import pytest

from baton.local import unlocked
from baton.shared.agent_process import identify

TERMINAL = """
import fcntl, json, os, pty, subprocess, sys, termios
from pathlib import Path
out, url, ask = sys.argv[1:]
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.setsid()
_, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
from baton.local import unlocked
unlocked.hold(url, "s3cret")
def asked(*before, env={}, **more):
    done = subprocess.run([*before, sys.executable, "-c", ask, url], env=env, capture_output=True, text=True, **more)
    return done.stdout.strip()
def elsewhere():
    _, other = pty.openpty()
    os.setsid()
    fcntl.ioctl(other, termios.TIOCSCTTY, 0)
found = {
    "here": unlocked.ask(url),
    "a child": asked(),
    "an agent": asked(env={"CLAUDECODE": "1"}),
    "detached": asked(start_new_session=True),
    "another terminal": asked(preexec_fn=elsewhere),
    "another server": unlocked.ask(url + "/other"),
    "twice": (unlocked.hold(url, "second"), unlocked.ask(url))[1],
}
def command(one):
    try:
        return (one / "cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return b""
mine = [one for one in Path("/proc").glob("[0-9]*") if b"baton.local.unlocked" in command(one)]
def readable(one):
    try:
        return (one / "environ").read_bytes() is not None and os.geteuid() != 0
    except OSError:
        return False
found["to a debugger"] = any(map(readable, mine))
found["locked"] = unlocked.lock(url)
found["after that"] = unlocked.ask(url)
Path(out + ".part").write_text(json.dumps(found))
Path(out + ".part").rename(out)
"""
ASK = "import sys; from baton.local import unlocked; print(unlocked.ask(sys.argv[1]))"


def test_a_token_is_held_for_the_terminal_where_it_was_unlocked(tmp_path):
    out = tmp_path / "found.json"
    subprocess.run(
        [sys.executable, "-c", TERMINAL, str(out), f"https://{tmp_path.name}.example.com", ASK], env={}, check=True
    )
    for _ in range(1_200):
        if out.exists():
            break
        time.sleep(0.05)
    assert json.loads(out.read_text()) == {
        "here": "s3cret",
        "a child": "s3cret",
        "an agent": "",
        "detached": "",
        "another terminal": "",
        "another server": "",
        "twice": "second",
        "to a debugger": False,
        "locked": True,
        "after that": "",
    }


def test_an_unlocked_token_ends_at_its_expiry(tmp_path):
    with unlocked.listen(private(tmp_path) / "s", 16) as listener:
        assert unlocked._serve(listener, "t", os.getpid(), time.monotonic() - 1) is None


def test_an_invisible_session_has_no_token(monkeypatch):
    monkeypatch.setattr(os, "getsid", lambda _: 0)
    with pytest.raises(OSError, match="outside of this container"):
        unlocked.hold("https://unseen.example.com", "t")


def test_an_unlocked_token_ends_with_its_terminal(tmp_path, monkeypatch):
    known = iter([identify(os.getpid()), None])
    monkeypatch.setattr("baton.shared.agent_process.identify", lambda _: next(known))
    path = private(tmp_path) / "s"
    monkeypatch.setattr(unlocked, "_path", lambda _: path)
    with unlocked.listen(path, 16) as listener, subprocess.Popen([sys.executable, "-c", ASKING, str(path)]) as asking:
        unlocked._serve(listener, "t", os.getpid(), time.monotonic() + 60)
        listener.close()
        asking.wait()


ASKING = """
import socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect(sys.argv[1])
    one.sendall(b"token\\n")
    assert one.recv(99) == b""
"""


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_that_others_reach_is_not_used(tmp_path, mode):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    with pytest.raises(PermissionError):
        unlocked.listen(tmp_path / "open" / "s", 16)


def private(folder):
    (folder / "mine").mkdir(mode=0o700)
    return folder / "mine"
