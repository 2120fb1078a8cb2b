"""`baton doctor`: diagnoses problems of this installation, and shows how to fix them."""

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Literal, NamedTuple

import typer

from baton.cli.hooks import status as hook_status
from baton.cli.hooks.files import targets
from baton.cli.options import AsJson
from baton.cli.output import show_findings, show_json
from baton.local import config
from baton.local.project import find_project
from baton.local.server import Api, ApiError, TokenRefused
from baton.shared.environment import unknown_variables

Verdict = Literal["ok", "warning", "error"]


class Finding(NamedTuple):
    """One check: its result, and how to fix it."""

    verdict: Verdict
    what: str
    fix: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Diagnose problems of this installation, and show how to fix them.

    Exits with 1 if something is broken.
    """
    findings = list(examine())
    if as_json:
        show_json([finding._asdict() for finding in findings])
    else:
        show_findings(findings)
    if any(finding.verdict == "error" for finding in findings):
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    """Check this installation: environment, server, hooks."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", f"Python {version}")
    yield from (
        Finding("warning", problem, "remove it, or correct its name") for problem in unknown_variables(os.environ)
    )
    if shutil.which("curl") is None:
        yield Finding("error", "curl is not installed; the hooks need it", "install curl")
    if os.environ.get("BATON_DISABLED"):
        yield Finding(
            "warning", "BATON_DISABLED is set: Baton does not check agents started here", "unset BATON_DISABLED"
        )
    path = config.config_path()
    if path.exists() and path.stat().st_mode & 0o077:
        yield Finding("error", f"`{path}` can be read by others", f"chmod 600 {path}")
    yield from _server()
    yield from _hooks()


def _server() -> Iterator[Finding]:
    try:
        api = Api()
        status = api.request("GET", "/status")
    except TokenRefused as error:
        yield Finding(
            "error",
            str(error),
            f"set BATON_TOKEN to yours and run `baton hooks install`: it puts one for hooks into `{config.config_path()}`",
        )
        return
    except ApiError as error:
        yield Finding("error", str(error))
        return
    yield Finding("ok", f"server {status['version']} answers at {api.config.url}")
    for name in ("redis", "database"):
        if status[name] == "up":
            yield Finding("ok", f"{name} is up")
        else:
            yield Finding("error", f"{name} is down: decisions are made without it", "see the server's log")
    if status.get("word_table") == "missing":
        what = "the table of word vectors is missing: prompts are routed by words alone"
        yield Finding("warning", what, "install the package `wordllama` on the server's machine")
    for problem in status["policy_problems"]:
        where = f"{problem['file']}:{problem['line']}"
        yield Finding("error", f"a newer policy set was refused at {where}: {problem['text']}", "baton policy test")
    for who, count in status["refused"].items():
        yield Finding("warning", f"{count} hook calls came with a refused token: {who}", "baton token create")
    for failure, count in status["hook_failures"].items():
        yield Finding("warning", f"{count} hook calls were answered without a decision: {failure}")


def _hooks() -> Iterator[Finding]:
    found = hook_status.report(targets(find_project().root), {})
    installed = [one for one in found["settings"] if one["installed"]]
    plugins = [one["path"] for one in found["settings"] if one.get("plugin")]
    yield from (Finding("ok", f"hooks of Claude Code are installed as a plugin in {path}") for path in plugins)
    if not installed:
        if plugins:
            return
        yield Finding("warning", "BATON IS NOT CHECKING SESSIONS HERE: no hooks are installed", "baton hooks install")
        return
    if found["shim"]["state"] != "current":
        yield Finding(
            "error", f"the shim in {found['shim']['path']} is {found['shim']['state']}", "baton hooks install"
        )
    for one in installed:
        name = f"hooks of {one['client']} ({one['scope']}, {one['transport']})"
        if one.get("problem"):
            yield Finding("error", f"{name}: {one['problem']}", f"look at {one['path']}")
        elif one["missing"]:
            yield Finding("warning", f"{name} lack {', '.join(one['missing'])}", "baton hooks install")
        else:
            yield Finding("ok", f"{name} are installed")
