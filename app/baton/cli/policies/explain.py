"""`baton explain`: why a call is, or was, decided as it is. The server decides, as it does for the hooks."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from baton.cli.options import AsJson
from baton.cli.output import end_with_json, plain
from baton.local.server import Api, ApiError

_FIELDS = {
    "Agent": "prompt",
    "Bash": "command",
    "Glob": "pattern",
    "Grep": "pattern",
    "NotebookEdit": "notebook_path",
    "PowerShell": "command",
    "Task": "prompt",
    "WebFetch": "url",
    "WebSearch": "query",
}
"""The main field of a tool's input; every other tool's is `file_path`."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[CALL]",
            help="A shell line, the input of `--tool`, or a recorded decision's id. Default: a payload from standard input.",
        ),
    ] = "",
    tool: Annotated[str, typer.Option(help="The tool of the call: Bash, Read, Edit, WebFetch, …")] = "Bash",
    level: Annotated[str, typer.Option(help="Decide as if the mode were at this level: off, guidance, strict.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Also show why the other rules did not match.")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain a call or a recorded decision.

    A call is typed as in baton explain 'rm -rf ~', or baton explain --tool Edit .env. A payload from standard input is
    a client's request before a tool call: baton explain < payload.json
    """
    api = Api()
    if _ID.fullmatch(what):
        _show_recorded(api, what, everything=everything, as_json=as_json)
        return
    payload = {"tool_name": tool, "tool_input": _tool_input(tool, what), "cwd": str(Path.cwd())} if what else _payload()
    if level:
        payload["level"] = level
    payload.setdefault("project", api.project.name)
    answer = api.request("POST", "/policies/evaluate", body=payload)
    end_with_json(answer, when=as_json)
    _show_verdict(answer, everything=everything)


def _tool_input(tool: str, text: str) -> dict[str, Any]:
    """Return the input of a call: a JSON object as it is, any other text as the tool's main field."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {_FIELDS.get(tool, "file_path"): text}


def _payload() -> dict[str, Any]:
    text = "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise ApiError(
            "no call: give one, as in `baton explain 'rm -rf ~'`, or pipe a payload in: `baton explain < payload.json`"
        )
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise ApiError(f"the payload is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise ApiError("the payload must be a JSON object such as a client posts")
    return payload


def _show_recorded(api: Api, decision_id: str, *, everything: bool, as_json: bool) -> None:
    record = api.request("GET", f"/decisions/{decision_id}")
    end_with_json(record, when=as_json)
    what = record.get("command") or ", ".join(record["paths"])
    print(plain(f"{record['decision']} ({record['effect']}): {record.get('tool', record['event'])} {what}".rstrip()))
    project = record.get("project", "no project")
    print(plain(f"  {record['at']}, {record['user']} in {project}, client {record['client']}"))
    print(
        f"  mode {'on' if record['mode_enabled'] else 'off'}, level {record['mode_level']}, from {record['mode_scope']}"
    )
    for hit in record["rules"]:
        print(f"  rule {hit['id']}: {hit['effect']}")
    if not record["rules"]:
        print("  no rule matched")
    if everything:
        _show_others(api.request("GET", f"/decisions/{decision_id}/explanation"))
    if record.get("prompt"):
        print("  prompt:\n" + "\n".join(f"    {plain(line)}" for line in record["prompt"].splitlines()))
    print(f"  policy revision {record['revision']}, {record['elapsed_ms']} ms, {_degraded(record['degraded'])}")


def _show_others(explanation: dict[str, Any]) -> None:
    """Print why the rules without an effect did not match, asking the rules of that revision again."""
    for rule in explanation["rules"]:
        if "effect" not in rule:
            print(plain(f"  {rule['id']} ({rule['decision']}): {rule.get('why', 'it matches now')}"))
    for missing in explanation["missing"]:
        print(plain(f"  not explained: {missing}"))


def _degraded(names: list[str]) -> str:
    return f"decided without: {', '.join(names)}" if names else "nothing was missing"


def _show_verdict(answer: dict[str, Any], *, everything: bool) -> None:
    mode = f"level {answer['mode']['level']}" if answer["mode"]["enabled"] else "mode off"
    print(f"{answer['decision']} ({mode}, policy revision {answer['policy_revision']})")
    traces = {one["id"]: one for one in answer["trace"]}
    for hit in answer["rules"]:
        print(plain(f"  rule {hit['id']}: {hit['effect']}{_lock(traces.get(hit['id'], {}))}"))
    if not answer["rules"]:
        print("  no rule matched: the client continues as without Baton")
    if "model" in answer:
        print(plain(f"  model: {answer['model'].get('name', 'left alone')} ({answer['model']['reason']})"))
    if "shell" in answer:
        _show_shell(answer["shell"])
    for name in ("reason", "guidance", "suggestion", "message"):
        if name in answer:
            # A reason may hold words of the call, so control characters are taken out before a terminal sees them.
            print(f"{name}:\n" + "\n".join(f"  {plain(line)}" for line in answer[name].splitlines()))
    if everything:
        for trace in answer["trace"]:
            if not trace["matched"]:
                when = f" [when: {trace['when']}]" if trace.get("when") else ""
                print(plain(f"  not {trace['id']}: {trace['why']}{when}{_lock(trace)}"))


def _lock(trace: dict[str, Any]) -> str:
    """Return the lock of a trace's rule, or the person who unlocked it; "" for a rule without a lock."""
    if not trace.get("locked"):
        return ""
    lock = f", locked by `{trace['locked']}`"
    return f"{lock}, unlocked {trace['unlocked']}" if trace.get("unlocked") else lock


def _show_shell(shell: dict[str, Any]) -> None:
    for argv in shell["programs"]:
        print(plain(f"  runs {' '.join(argv)}"))
    for target in shell["writes"]:
        print(plain(f"  writes {target}"))
    print(f"  categories: {', '.join(shell['categories']) or 'none'}")
    if shell["unparsed"]:
        print(f"  not read completely: {shell['unparsed_reason']}")
