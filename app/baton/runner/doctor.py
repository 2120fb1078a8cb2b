"""Checks this machine's ability to run jobs: programs, folders, and a trivial prompt per agent."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.agents.driving import AgentError, AgentRun
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import text_of
from baton.runner.config import Provider, RunnerConfig, program
from baton.runner.environment import environment
from baton.runner.job import DRIVERS
from baton.runner.permissions import Permissions
from baton.runner.wire import PermissionReply
from baton.shared.providers import ACP_AGENTS, PROVIDERS

PROMPT = "Answer with the single word: ready"
LIMIT_S = 90.0


class RunnerFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, with a fix."""

    ok: bool
    what: str
    fix: str = ""


async def examine(config: RunnerConfig, env: Mapping[str, str]) -> list[RunnerFinding]:
    """Check everything in the file."""
    findings = [
        RunnerFinding(ok=True, what=f"workspace `{alias}` is {config.folder(alias)}") for alias in config.workspaces
    ]
    if not config.workspaces:
        findings.append(RunnerFinding(ok=False, what="no workspace is configured", fix="name one in `runner.yaml`"))
    if not config.providers:
        ways = "; ".join(f"`{ACP_AGENTS[name].install}` for {name}" for name in PROVIDERS)
        fix = f"install an agent ({ways}), and switch it on in `runner.yaml`"
        findings.append(RunnerFinding(ok=False, what="no provider is configured", fix=fix))
    if shutil.which("git", path=env.get("PATH")) is None:
        findings.append(
            RunnerFinding(ok=False, what="git is not installed; jobs with a worktree need it", fix="install git")
        )
    return [*findings, *[await _provider(name, config, env) for name in config.providers]]


async def _provider(name: str, config: RunnerConfig, env: Mapping[str, str]) -> RunnerFinding:
    provider = config.providers[name]
    if program(provider, env) is None:
        missing = f"`{name}`: `{provider.command[0]}` is not installed"
        known = ACP_AGENTS.get(name)
        is_known = known is not None and provider.command[0] == known.command[0]
        how = f"`{known.install}`" if known is not None and is_known else "install it"
        return RunnerFinding(ok=False, what=missing, fix=f"{how}, or remove `{name}` from `runner.yaml`")
    with tempfile.TemporaryDirectory(prefix="baton-doctor-") as folder:
        try:
            said = await _prompted(provider, Path(folder), environment(env, name, provider, config.env_pass))
        except TimeoutError:
            return RunnerFinding(ok=False, what=f"`{name}`: no answer within {LIMIT_S:.0f} s", fix=_by_hand(provider))
        except (AgentError, OSError) as error:
            return RunnerFinding(ok=False, what=f"`{name}`: {error}", fix=_by_hand(provider))
    return RunnerFinding(ok=True, what=f"`{name}` answers: {said.strip()[:60] or '(nothing)'}")


async def _prompted(provider: Provider, folder: Path, env: Mapping[str, str]) -> str:
    said: list[str] = []

    def tell(_kind: str, body: dict[str, Any]) -> None:
        said.append(text_of(body.get("update") or {}))

    async def refuse(_request: dict[str, Any]) -> PermissionReply:
        return PermissionReply(answer="deny")

    task = AgentRun(prompt=PROMPT, folder=folder)
    driver = DRIVERS[provider.driver](provider, task, Permissions(folder, refuse), tell)
    tree = await ProcessTree.start(driver.command(), cwd=folder, env=env)
    try:
        await asyncio.wait_for(driver.work(tree), LIMIT_S)
    except ConnectionError as error:
        await tree.exited()
        raise AgentError("agent_died", tree.last_words or str(error)) from None
    finally:
        with contextlib.suppress(OSError):
            await driver.close()
        await tree.end()
    return "".join(said)


def _by_hand(provider: Provider) -> str:
    return f"start `{' '.join(provider.command)}` by hand, and log in if it asks"
