"""Runs Cerbos for comparison: a general policy engine in Go, asked over HTTP for the same calls, with as many rules.

Its rules find commands by regular expressions, in CEL; it reads no shell and keeps no history. Its decision log is a file. The
binary comes from npm: `npm install --prefix FOLDER cerbos`, then `python -m bench.pre_tool_use --cerbos FOLDER`.
"""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil

PATH = "/api/check/resources"
START_S = 30.0
RULES = (
    r"^(npm|pnpm|yarn|bun) (run )?(test|build|lint)", r"(^|[;&|] *)(uv run |poetry run )?(python3? -m )?pytest", r"(^|[;&|] *)cargo (build|test|clippy)",
    r"(^|[;&|] *)go (build|test|vet)", r"(^|[;&|] *)(make|ninja|cmake)( |$)", r"(^|[;&|] *)(npx|bunx) (jest|vitest|eslint|tsc)", r"(^|[;&|] *)(mvn|gradle|\./gradlew) ",
    r"\brm +(-[a-zA-Z]+ +)*-[a-zA-Z]*[rR][a-zA-Z]* +(/|~|\$HOME)( |$)", r"\bgit +push\b.*(--force|-f)\b", r"\bgit +reset +--hard\b", r"\bgit +clean +-[a-z]*f",
    r"\bgit +(commit|push)\b.*--no-verify", r"\b(curl|wget)\b.*\| *(sudo +)?(ba|z)?sh\b", r"\bchmod +(-R +)?777\b", r"\bdd +.*of=/dev/", r"\bmkfs(\.\w+)? ",
    r":\(\) *\{ *:\|:& *\};:", r"\b(npm|pnpm|yarn) +publish\b", r"\bkubectl +delete\b", r"\bterraform +(destroy|apply)\b", r"\bdocker +(system|volume) +prune\b",
    r"\baws +s3 +rb\b", r"\bpip +install\b(.*)--break-system-packages", r">+ *(/etc/|~/\.(bash|zsh)rc)", r"\b(sudo|doas) ",
)  # fmt: skip
"""Patterns of refused commands, one for each of 25 rules of Baton's kinds."""


def bodies(payloads: Iterator[bytes]) -> Iterator[bytes]:
    """Turn payloads for Baton into questions to Cerbos about the same calls."""
    for number, payload in enumerate(payloads):
        call = json.loads(payload)
        attributes = {"tool": call["tool_name"], "command": call["tool_input"].get("command", ""), "cwd": call["cwd"]}
        yield json.dumps(
            {
                "requestId": str(number),
                "principal": {"id": "ann", "roles": ["developer"], "attr": {"session": call["session_id"]}},
                "resources": [
                    {
                        "actions": ["use"],
                        "resource": {"kind": "tool_call", "id": call["tool_use_id"], "attr": attributes},
                    }
                ],
            }
        ).encode()


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run Cerbos from the npm package in a folder; yields its port and process."""
    binary = next(folder.glob("node_modules/@cerbos/cerbos-*/cerbos-*"), None)
    if binary is None:
        raise SystemExit(f"`{folder}` holds no Cerbos: `npm install --prefix {folder} cerbos`")
    with tempfile.TemporaryDirectory(prefix="baton-bench-cerbos-") as home:
        policies = Path(home) / "policies"
        policies.mkdir()
        (policies / "tool_call.json").write_text(json.dumps(_policy()))
        port, other = _free_ports(2)
        config = {
            "server": {"httpListenAddr": f"127.0.0.1:{port}", "grpcListenAddr": f"127.0.0.1:{other}"},
            "storage": {"driver": "disk", "disk": {"directory": str(policies), "watchForChanges": False}},
            "audit": {
                "enabled": True, "backend": "file", "accessLogsEnabled": False, "decisionLogsEnabled": True, "file": {"path": f"{home}/decisions.log"},
            },
            "telemetry": {"disabled": True},
        }  # fmt: skip
        (Path(home) / "config.json").write_text(json.dumps(config))
        # One thread runs Go code, like the single loop of a Python server; CPU time is compared.
        env = dict(os.environ) | {"GOMAXPROCS": "1", "CERBOS_NO_TELEMETRY": "1"}
        command = [str(binary), "server", f"--config={home}/config.json", "--log-level=error"]
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
            try:
                _wait(port)
                yield port, psutil.Process(process.pid)
            finally:
                process.terminate()
                process.wait(START_S)


def _policy() -> dict[str, object]:
    refused = [
        {
            "actions": ["use"], "roles": ["developer"], "effect": "EFFECT_DENY", "name": f"rule{number}",
            "condition": {"match": {"expr": f"R.attr.tool == 'Bash' && R.attr.command.matches({json.dumps(pattern)})"}},
        }
        for number, pattern in enumerate(RULES)
    ]  # fmt: skip
    allowed = {"actions": ["use"], "roles": ["developer"], "effect": "EFFECT_ALLOW", "name": "otherwise"}
    return {
        "apiVersion": "api.cerbos.dev/v1",
        "resourcePolicy": {"version": "default", "resource": "tool_call", "rules": [*refused, allowed]},
    }


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait(port: int) -> None:
    """Wait until Cerbos answers, and check its rules' refusals.

    Raises:
        SystemExit: If it does not start, or its rules are wrong.
    """
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            found = [_asked(port, command) for command in ("git push --force", "uv run pytest -q", "git status")]
        except httpx2.HTTPError:
            time.sleep(0.1)
            continue
        if found == ["EFFECT_DENY", "EFFECT_DENY", "EFFECT_ALLOW"]:
            return
        raise SystemExit(f"Cerbos decides otherwise than its rules say: {found}")
    raise SystemExit("Cerbos did not start")


def _asked(port: int, command: str) -> str:
    payload = {
        "session_id": "s",
        "cwd": "/w",
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_input": {"command": command},
    }
    body = next(bodies(iter([json.dumps(payload).encode()])))
    answer = httpx2.post(
        f"http://127.0.0.1:{port}{PATH}", content=body, headers={"Content-Type": "application/json"}, trust_env=False
    )
    answer.raise_for_status()
    return str(answer.json()["results"][0]["actions"]["use"])
