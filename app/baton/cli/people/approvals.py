"""`baton approvals`, `approve`, `deny`: answer agents' requests to a person, in sessions and in delegated jobs."""

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, path_of
from baton.cli.output import end_with_json, plain
from baton.cli.policies.decisions import PAUSES_S
from baton.local.server import Api, ApiError, Refused, TokenRefused

RequestId = Annotated[str, typer.Argument(help="The request, as `baton approvals` lists it.")]
Reason = Annotated[str, typer.Option(help="The reason; the agent reads it with a denial.")]


def approvals(
    follow: Annotated[bool, typer.Option("--follow", help="Go on, and print each new request, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the requests that wait for an answer."""
    api = Api()
    found = api.request("GET", "/approvals")["items"]
    end_with_json(found, when=as_json)
    for one in found:
        _show(one)
    if not found:
        print("Nothing waits for you.")
    known = {one["id"] for one in found}
    sys.stdout.flush()  # a pipe's reader sees each request at once
    broken = 0
    while follow:
        try:
            # Pings count as well: the stream does not tell an approver of another team what has come.
            for _ in api.events("/stream", query={"topics": "questions"}):
                broken = 0
                _show_new(api, known)
            time.sleep(PAUSES_S[0])  # the server is stopping; the next one continues
        except KeyboardInterrupt:
            return
        except ApiError as error:
            if broken == len(PAUSES_S) or isinstance(error, TokenRefused | Refused):
                raise
            time.sleep(PAUSES_S[broken])
            broken += 1


def approve(request_id: RequestId, reason: Reason = "", as_json: AsJson = False) -> None:
    """Approve one act of an agent.

    The agent makes the same call again; any other call is still refused.
    """
    _answer(request_id, "allow", reason, as_json=as_json)


def deny(request_id: RequestId, reason: Reason = "", as_json: AsJson = False) -> None:
    """Deny one act of an agent."""
    _answer(request_id, "deny", reason, as_json=as_json)


def _show_new(api: Api, known: set[str]) -> None:
    """Show the requests that are not known yet."""
    for one in api.request("GET", "/approvals")["items"]:
        if one["id"] not in known:
            known.add(one["id"])
            if one["may_answer"]:
                _notify(one)
            _show(one)
    sys.stdout.flush()


def _show(one: dict[str, Any]) -> None:
    where = f"job {one['job']}" if one["job"] else f"session {one['session_id']}"
    whose = "" if one["may_answer"] else " (not yours to answer)"
    place = f" in {one['folder']}" if one["folder"] else ""
    what = " ".join(filter(None, (one["command"], one["others"]))) if one["command"] else one["input"]
    print(plain(f"{one['id']}  {one['user']}, {where}{place}{whose}: {one['tool']} {what}"))
    print(textwrap.indent(plain(one["reason"] or one["rule"]), "  "))


def _notify(one: dict[str, Any]) -> None:
    """Show a request on the desktop, or ring the terminal's bell."""
    from baton.runner.runner import desktop_notification

    text = f"{one['tool']} {one['command'] or one['input']}"
    if command := desktop_notification(os.environ, f"{one['user']}'s agent waits for an answer", text):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=5)
    else:
        print("\a", end="")


def _answer(request_id: str, answer: Literal["allow", "deny"], reason: str, *, as_json: bool) -> None:
    one = Api().request("POST", path_of("approvals", request_id), body={"answer": answer, "reason": reason})
    end_with_json(one, when=as_json)
    once = " It passes once." if one["state"] == "approved" and not one["job"] else ""
    print(f"{one['id']} is {one['state']}.{once}")
