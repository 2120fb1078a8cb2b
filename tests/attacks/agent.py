"""An agent attacking a running server: through its client's hooks, and over the port with any local program."""

import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from tests.attacks.corpus import STOPPED, Call
from tests.attacks.openapi import Request
from tests.hooks.shim import run_shim
from tests.support.installation import INSTALLED
from tests.support.server import Server, until

_SESSIONS = count()
_OFF = '{"scope":"user","enabled":false}'
_FILES = {
    "off.json": _OFF,
    "put.curlrc": 'url = "{url}/mode"\nrequest = "PUT"\ndata = "@off.json"\nheader = "Content-Type: application/json"\n',
    "words.txt": "-X\nPUT\n{url}/mode\n-H\nContent-Type:application/json\n-d\n@off.json\n",
    "request.txt": "PUT /mode HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n"
    + _OFF,
    "put.py": "import urllib.request as u\n"
    "kind = {'Content-Type': 'application/json'}\n"
    "u.urlopen(u.Request('{url}/mode', open('off.json', 'rb').read(), kind, method='PUT'))\n",
    "put.js": "const body = require('fs').readFileSync('off.json')\n"
    "fetch('{url}/mode', {method: 'PUT', headers: {'Content-Type': 'application/json'}, body})\n",
    "put.pl": "use IO::Socket::INET; local $/; open(F, 'request.txt'); my $r = <F>;\n"
    "my $s = IO::Socket::INET->new('127.0.0.1:{port}'); print $s $r; $s->shutdown(1); print <$s>;\n",
    "put.sh": "curl -s -X PUT {url}/mode -H 'Content-Type: application/json' -d @off.json\n",
    "Makefile": "off:\n\tcurl -s -X PUT {url}/mode -H 'Content-Type: application/json' -d @off.json\n",
}  # fmt: skip
"""What the lines that are run find in their folder: an agent writes such files with calls that no rule objects to."""
_STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3})", re.MULTILINE)
LONGEST_S = 30
ANSWER_S = 5.0
"""Longest wait for the server's answer to a client that has gone, in seconds."""
ELSEWHERE = ":".join(line.partition("\t")[2] for line in INSTALLED.splitlines() if line.startswith("hook_settings"))
"""What the machine of tests/lines/installed.tsv has elsewhere than usual, as its shim says it."""


class Agent:
    """An agent on the machine of a server without tokens, whose person has the mode off, or on and strict."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.port = int(server.url.rpartition(":")[2])
        self.name = f"attacker{next(_SESSIONS)}"
        self._http: dict[str, httpx2.Client] = {}
        for level in ("off", "strict"):
            self._http[level] = server.agent(**{"Baton-User": f"{self.name}-{level}", "Baton-Installed": ELSEWHERE})
        self.switch_on(f"{self.name}-strict")

    def switch_on(self, user: str) -> None:
        """Switch the mode on, as the person of that name does, and wait until hooks know it."""
        with self.server.client(**{"Baton-User": user}) as person:
            person.put("/mode", json={"scope": "user", "enabled": True, "level": "strict"}).raise_for_status()
            until(lambda: person.get("/mode").json()["enabled"])

    def filled(self, value: Any) -> Any:
        """Put the server's address into the texts of an attack."""
        text = json.dumps(value).replace("{url}", self.server.url).replace("{port}", str(self.port))
        return json.loads(text.replace("{host}", "127.0.0.1"))

    def calls(self, call: Call) -> str:
        """Make a call by both clients, with the mode off and on, and return the weakest answer."""
        answers = [self.asks(call, client, level) for client in ("claude-code", "codex") for level in ("off", "strict")]
        return max(answers, key=["blocked", "asked", "allowed"].index)

    def asks(self, call: Call, client: str = "claude-code", level: str = "off") -> str:
        """Return what a client's hook is answered about a call of the main thread."""
        number = next(_SESSIONS)
        payload = {"hook_event_name": "PreToolUse", "session_id": f"{self.name}-{number}", "cwd": call.cwd}
        payload |= {"tool_name": call.tool, "tool_input": self.filled(call.tool_input), "tool_use_id": f"t{number}"}
        answer = self._http[level].post(f"/hooks/{client}?event=PreToolUse", json=payload).raise_for_status()
        said = answer.json().get("hookSpecificOutput", {}).get("permissionDecision", "")
        return {"deny": "blocked", "ask": "asked"}.get(said, "allowed")

    def tries(self, call: Call, folder: Path) -> str:
        """Make a call, and where no hook stops it and the server should, run its line and see what it has done."""
        found = self.calls(call)
        if found in STOPPED or call.want not in {"refused", "pinned"}:
            return found
        does = self.moves if call.want == "pinned" else self.runs
        return "refused" if does(call.tool_input["command"], folder) else "allowed"

    def runs(self, line: str, folder: Path) -> bool:
        """Run a line that is to switch the mode off, and return whether the server refused it and the mode is still on."""
        folder.mkdir()
        self.switch_on(getpass.getuser())
        relay = _Relay(self.port)
        for name, text in _FILES.items():
            (folder / name).write_text(relay.named(text))
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = subprocess.Popen(
            ["bash", "-c", relay.named(line)], cwd=folder, env=env, start_new_session=True, **quiet
        )
        try:
            started.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        statuses = relay.close()
        with self.server.agent() as reader:
            mode = reader.get("/mode").json()
        if not statuses and not _missing(line):
            raise AssertionError(f"the line never reached the server: {line}")
        return mode["enabled"] and mode["level"] == "strict" and all(status >= 400 for status in statuses)

    def moves(self, line: str, folder: Path) -> bool:
        """Run a line that is to take a session out of its project, and return whether the project's mode still holds.

        The real shim reads which project the folder is, before and after.
        """
        project = f"git.example/{self.name}/shop{next(_SESSIONS)}"
        folder.mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "BATON_URL": self.server.url, "BATON_USER": self.name}
        env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for words in (["init", "-q"], ["remote", "add", "origin", f"https://{project}.git"]):
            subprocess.run(["git", *words], cwd=folder, env=env, check=True)
        with self.server.client() as person:
            mode = {"scope": "project", "id": project, "enabled": True, "level": "strict"}
            person.put("/projects", json={"name": project, "team": "default"}).raise_for_status()
            person.put("/mode", json=mode).raise_for_status()
        edit = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
        event = {"session_id": project, "cwd": str(folder), "hook_event_name": "PreToolUse"} | edit

        def is_refused(number: int) -> bool:
            body = json.dumps(event | {"tool_use_id": f"{project}-{number}"}).encode()
            return b'"deny"' in run_shim(["sh"], env, folder, "claude-code", "PreToolUse", body=body).out

        assert until(lambda: is_refused(next(_SESSIONS))), "the mode never reached the hook"
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return is_refused(next(_SESSIONS))

    def sends(self, request: Request) -> list[int]:
        """Send a request as it is, and return the statuses that come back."""
        data = request.data.replace(b"{port}", str(self.port).encode())
        with socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST_S) as connection:
            connection.sendall(data)
            got = b""
            with suppress(OSError):  # the server may close it with data unread, behind its answer
                while part := connection.recv(1 << 16):
                    got += part
        return [int(status) for status in _STATUS.findall(got)]

    def asks_for(self, *, method: str, path: str, body: Any = None) -> str:
        """Send a request without a token, and return whether it was refused."""
        with self.server.agent(**{"If-Match": "*"}) as http:
            answer = http.request(method, path, json=body)
        return "refused" if answer.status_code in {403, 404, 422} else "allowed"

    def posts(self, events: list[dict[str, Any]]) -> str:
        """Post events in the name of a session that has looked something up; its next look-up should be blocked."""
        session = f"{self.name}-{next(_SESSIONS)}"
        look = {"session_id": session, "cwd": "/repo", "tool_name": "Read", "tool_input": {"file_path": "a"}}
        http = self._http["strict"]
        http.post("/pre-tool-use", json=look).raise_for_status()
        for event in events:
            body = {"session_id": session, "cwd": "/repo"} | event["body"]
            http.post(event["path"], json=body, headers=event.get("headers", {}))
        decision = http.post("/pre-tool-use", json=look).raise_for_status().json()["decision"]
        return "blocked" if decision == "block" else "allowed"

    def close(self) -> None:
        """Close the connections."""
        for one in self._http.values():
            one.close()


def _missing(line: str) -> bool:
    """Return whether the machine lacks a program that the line needs, so that running it proves nothing here."""
    return any(word in line.split() and not shutil.which(word) for word in ("nc", "socat", "node", "perl", "curl"))


class _Relay:
    """Hands connections on to the server, and keeps the statuses of its answers: a line that sends nothing proves nothing."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._statuses: set[int] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._last: object = None
        self.port = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            near, address = self._listener.accept()
            if address == self._last:
                near.close()
                return
            self._threads.append(threading.Thread(target=self._serve, args=(near,), daemon=True))
            self._threads[-1].start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            answered = threading.Event()
            back = threading.Thread(target=self._back, args=(far, near, answered), daemon=True)
            back.start()
            with suppress(OSError):
                while data := near.recv(1 << 16):
                    far.sendall(data)
            # Whoever has said all that he wants may have gone; the server's answer is of interest all the same.
            answered.wait(ANSWER_S)
            with suppress(OSError):
                far.shutdown(socket.SHUT_RDWR)
            back.join()

    def _back(self, far: socket.socket, near: socket.socket, answered: threading.Event) -> None:
        seen = b""
        with suppress(OSError):
            while data := far.recv(1 << 16):
                seen += data
                if found := _STATUS.findall(seen):
                    self._statuses |= {int(status) for status in found}
                    answered.set()
                with suppress(OSError):
                    near.sendall(data)
        answered.set()  # the server has gone without an answer
        near.close()

    def named(self, text: str) -> str:
        """Put this address into a text."""
        return text.replace("{url}", f"http://127.0.0.1:{self.port}").replace("{port}", str(self.port))

    def close(self) -> set[int]:
        """Stop, and return the statuses of the server's answers."""
        # Connections that wait to be accepted come before this one, so none is lost whose line has ended already.
        with socket.socket() as last:
            last.bind(("127.0.0.1", 0))
            self._last = last.getsockname()
            last.connect(("127.0.0.1", self.port))
            self._accepting.join()
        self._listener.close()
        for thread in self._threads:
            thread.join(LONGEST_S)
        return self._statuses
