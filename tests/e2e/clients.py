"""The real clients: installing them from the npm registry and driving them headless. It knows nothing of Baton.

Each run has a private home, its own process group and a time limit; at the end only that group is killed.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCKED = Path(__file__).parents[2] / "requirements" / "e2e"
INSTALLED = Path(__file__).parent / ".clients"
LIMIT_S = 120.0
BINARIES = {
    "claude": "node_modules/@anthropic-ai/claude-code-*/claude",
    "codex": "node_modules/@openai/codex-*/vendor/*/bin/codex",
    "copilot": "node_modules/@github/copilot-*/copilot",
    "opencode": "node_modules/opencode-*[4e]/bin/opencode",
    "gemini": "node_modules/@google/gemini-cli/bundle/gemini.js",
    "qwen": "node_modules/@qwen-code/qwen-code/cli.js",
    "claude-agent-acp": "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
    "codex-acp": "node_modules/@agentclientprotocol/codex-acp/dist/index.js",
}


@dataclass(frozen=True)
class Ran:
    """How a run ended: exit code, both outputs, and the events of its JSON stream."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


def install() -> None:
    """Install the locked clients into `.clients`, unless that is done; no install script runs."""
    locked = LOCKED / "package-lock.json"
    done = INSTALLED / "package-lock.json"
    if done.exists() and done.read_bytes() == locked.read_bytes() and all(_found(n) for n in BINARIES):
        return
    INSTALLED.mkdir(exist_ok=True)
    shutil.copy(LOCKED / "package.json", INSTALLED)
    # Not `npm ci`: it refuses a lock without the packages of other platforms, which not every registry mirror has.
    npm = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    shutil.copy(locked, INSTALLED / "package-lock.json.new")
    (INSTALLED / "package-lock.json.new").replace(done)
    try:
        subprocess.run(npm, cwd=INSTALLED, check=True, timeout=600)
    except BaseException:
        done.unlink()
        raise


def binary(name: str) -> Path:
    """The program of an installed client: native for `claude` and `codex`, a script for node for others."""
    found = _found(name)
    if not found:
        raise FileNotFoundError(f"`{name}` is not installed under {INSTALLED}")
    return found[0]


def _found(name: str) -> list[Path]:
    return sorted(INSTALLED.glob(BINARIES[name]))


def run(command: list[str], *, cwd: Path, env: Mapping[str, str], turns: Sequence[str] = ()) -> Ran:
    """Run a client to its end in a process group of its own, which is killed at the end or after LIMIT_S.

    Each of `turns` is a line for its standard input, written when the turn before has its `result`.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(LIMIT_S, _kill, (process,))
        timer.start()
        try:
            out = "".join(_dialogue(process, list(turns)))
            process.wait()
        finally:
            timer.cancel()
            _kill(process)
            process.wait()
        errors.seek(0)
        return Ran(process.returncode, out, errors.read())


def _dialogue(process: subprocess.Popen[str], turns: list[str]) -> Iterator[str]:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ValueError("the process has no pipes")

    def say() -> None:
        with contextlib.suppress(BrokenPipeError):
            if turns:
                stdin.write(turns.pop(0) + "\n")
                stdin.flush()
            else:
                stdin.close()

    say()
    with stdout:
        for line in stdout:
            yield line
            if '"type":"result"' in line and not stdin.closed:
                say()
    with contextlib.suppress(BrokenPipeError):
        stdin.close()


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def clean_env(home: Path) -> dict[str, str]:
    """An environment with a private home that names no real account, key, proxy or endpoint; `baton` is on its PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb"}


def claude(
    prompt: str | Sequence[str],
    *,
    home: Path,
    cwd: Path,
    model_url: str,
    env: Mapping[str, str] = {},
    args: tuple[str, ...] = (),
) -> Ran:
    """Run Claude Code on one prompt, or on several in one session. It reads the settings of `home` and of `cwd`."""
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
    whole = clean_env(home) | dict.fromkeys((*quiet, "DISABLE_ERROR_REPORTING"), "1")
    whole |= {"ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_MODEL": "opus", **env}
    single = isinstance(prompt, str)
    command = [str(binary("claude")), "-p", *([prompt] if single else ["--input-format", "stream-json"])]
    command += ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
    command += ["--model", "opus", "--permission-mode", "acceptEdits", *args]
    says = [] if single else [{"type": "user", "message": {"role": "user", "content": text}} for text in prompt]
    return run(command, cwd=cwd, env=whole, turns=[json.dumps(one) for one in says])


CODEX_MODEL = "gpt-6.1-sol"
"""A model that Codex knows, so that it offers its whole set of tools."""
CODEX_CONFIG = """\
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""


def codex(
    prompt: str,
    *,
    home: Path,
    cwd: Path,
    model_url: str,
    env: Mapping[str, str] = {},
    args: tuple[str, ...] = (),
    model: str = CODEX_MODEL,
) -> Ran:
    """Run Codex on one prompt. Its CODEX_HOME is `home/.codex`, whose config.toml is written anew; hooks.json stays."""
    codex_home = home / ".codex"
    codex_home.mkdir(parents=True, exist_ok=True)
    (codex_home / "config.toml").write_text(CODEX_CONFIG.format(url=model_url, model=model))
    whole = clean_env(home) | {"CODEX_HOME": str(codex_home), "SCRIPTED_KEY": "dummy", **env}
    command = [str(binary("codex")), "exec", "--json", "--skip-git-repo-check"]
    command += ["-s", "danger-full-access", "--dangerously-bypass-hook-trust"]
    return run([*command, *args, prompt], cwd=cwd, env=whole)


def copilot(
    prompt: str, *, home: Path, cwd: Path, model_url: str, env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
) -> Ran:
    """Run Copilot CLI on one prompt, without GitHub. It reads `home/.copilot`, and the settings of `cwd` if trusted."""
    whole = clean_env(home) | {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    whole |= {"COPILOT_PROVIDER_BASE_URL": f"{model_url}/v1", "COPILOT_PROVIDER_API_KEY": "dummy"}
    whole |= {"COPILOT_MODEL": "claude-sonnet-4.5", **env}
    command = [str(binary("copilot")), "-p", prompt, "--allow-all-tools", "--output-format", "json", *args]
    return run(command, cwd=cwd, env=whole)


OPENCODE_MODEL = "scripted/a-model"


def opencode(
    prompt: str, *, home: Path, cwd: Path, model_url: str, env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
) -> Ran:
    """Run opencode on one prompt. Its opencode.json is written anew; the plugins beside it stay."""
    options = {"baseURL": f"{model_url}/v1", "apiKey": "dummy"}
    models = {"a-model": {"name": "a model", "tool_call": True}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": models}
    config = home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    chosen = {"model": OPENCODE_MODEL, "small_model": OPENCODE_MODEL}
    config.write_text(json.dumps({**chosen, "provider": {"scripted": provider}, "autoupdate": False}))
    whole = clean_env(home) | {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", **env}
    return run([str(binary("opencode")), "run", "--format", "json", *args, prompt], cwd=cwd, env=whole)


def gemini(
    prompt: str, *, home: Path, cwd: Path, model_url: str, env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
) -> Ran:
    """Run Gemini CLI on one prompt. It reads the settings of `home` and of `cwd`, whose folder it trusts."""
    _configure(home / ".gemini", "gemini-api-key")
    whole = clean_env(home) | {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": model_url}
    whole |= {"GEMINI_CLI_NO_RELAUNCH": "true", **env}
    command = ["node", str(binary("gemini")), "-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"]
    return run([*command, "-m", "gemini-2.5-pro", *args], cwd=cwd, env=whole)


def qwen(
    prompt: str, *, home: Path, cwd: Path, model_url: str, env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
) -> Ran:
    """Run Qwen Code on one prompt. It reads the settings of `home` and of `cwd`."""
    _configure(home / ".qwen", "openai")
    whole = clean_env(home) | {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{model_url}/v1"}
    whole |= {"OPENAI_MODEL": "qwen3-coder-plus", **env}
    command = ["node", str(binary("qwen")), "-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"]
    return run([*command, *args], cwd=cwd, env=whole)


def _configure(folder: Path, auth: str) -> None:
    """Add to a client's settings which model it uses and that it trusts the folder; the hooks there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "settings.json"
    held = json.loads(file.read_text()) if file.exists() else {}
    security = {"auth": {"selectedType": auth}, "folderTrust": {"enabled": False}}
    file.write_text(json.dumps(held | {"security": security}))
