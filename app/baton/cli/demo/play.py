"""Plays the demonstration's story against a server, through its public API: the calls are decided like any."""

import secrets
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any
from urllib.parse import quote

from baton.cli.demo.story import STORY, StoryCall, StorySession
from baton.local.server import Api, ApiError

LONGEST_JOB_S = 60
POLL_S = 0.3
COSTS = {"input_tokens": 8_200, "cache_read_input_tokens": 5_100, "output_tokens": 930}
"""What a sub-agent of the story uses, as its client reports it."""


class Demo:
    """The people of the demonstration, each with their own token, revoked by `leave`."""

    def __init__(self, admin: Api, api_of: Callable[[str], Api]) -> None:
        self._admin = admin
        self._api_of = api_of
        self._apis: dict[str, Api] = {}
        self._tokens: list[str] = []
        self._own: Api | None = None
        self.calls = 0

    def is_fresh(self) -> bool:
        """Return whether nobody has made a call on the server yet. Raise ApiError."""
        return not self._admin.request("GET", "/decisions", query={"limit": "1"})["items"]

    def set_up(self) -> None:
        """Enter the teams, people, projects, rules, modes and rosters. Raise ApiError."""
        admin = self._admin
        for team, one in STORY.teams.items():
            admin.request("PUT", f"/teams/{team}", body={"reason": STORY.why})
            admin.request("PUT", f"/teams/{team}/settings", body={"keep_prompts": True, "reason": STORY.why})
            admin.request(
                "PUT", "/projects", body={"name": one.project, "team": team, "reason": STORY.why}, headers=_ANY
            )
        for person, found in STORY.people.items():
            role = "lead" if STORY.teams[found.team].lead == person else "developer"
            self._apis[person] = self._api_of(self._token(person, role, found.team))
        for team, one in STORY.teams.items():
            api = self._apis[one.lead]
            body = {"files": STORY.rules, "reason": STORY.why}
            api.request(
                "PUT", "/policies/layers/team", query={"name": team, "activate": "true"}, body=body, headers=_ANY
            )
            api.request("PUT", f"/rosters/{team}", query={"team": team}, body={"agents": STORY.agents}, headers=_ANY)
        mode = {"scope": "team", "id": "demo-web", "enabled": True, "level": "strict", "reason": STORY.why}
        self._apis["demo-ada"].request("PUT", "/mode", body=mode)

    def play(self) -> None:
        """Let everybody work once: sessions, routes with feedback, patterns, a graph, a job, a report. Raise ApiError."""
        for session in STORY.sessions:
            for _ in self._calls(session):
                pass
        for number, (prompt, right) in enumerate(STORY.prompts):
            person = list(STORY.people)[number % len(STORY.people)]
            api = self._apis[person]
            made = api.request("POST", "/route", body={"prompt": prompt}, headers=self._headers(person))
            api.request("POST", f"/route/{made['id']}/feedback", body={"agent": right})
        lead = self._apis["demo-ada"]
        known = {one["signature"] for one in lead.pages("/patterns", {})}
        for pattern in STORY.patterns:
            if pattern["signature"] in known:
                continue
            made = lead.request("POST", "/patterns", body=pattern)
            if pattern is STORY.patterns[0]:
                lead.request("POST", f"/patterns/{made['id']}/approve", body={"reason": STORY.why}, headers=_ANY)
        graph = {"roster": "stravinsky", "session_id": "demo-graph", "tasks": STORY.tasks}
        made = lead.request("POST", "/graphs", body=graph)
        lead.request("POST", f"/graphs/{made['id']}/spawn:batch", body=STORY.first_wave)
        lead.request("POST", f"/graphs/{made['id']}/tasks/{quote(next(iter(STORY.tasks)))}/complete")
        self._report()

    def _report(self) -> None:
        person, command, comment = STORY.report
        api = self._apis[person]
        ends = time.monotonic() + LONGEST_JOB_S
        while time.monotonic() < ends:
            query = {"user": person, "effect": "deny", "q": command, "limit": "1"}
            if found := api.request("GET", "/decisions", query=query)["items"]:
                api.request("POST", "/reports", body={"decision_id": found[0]["id"], "comment": comment})
                return
            time.sleep(POLL_S)
        raise ApiError(f"`{command}` of the demonstration was not stored within {LONGEST_JOB_S} s")

    def token_of_runner(self) -> str:
        """Return a token of the demonstration's owner, for a runner serving nobody else. Raise ApiError."""
        text = self._token(self._admin.request("GET", "/me")["user"], "developer", "")
        self._own = self._api_of(text)
        return text

    def delegate(self) -> None:
        """Delegate a task with changes, wait until it has ended, and leave one to be confirmed.

        Raises:
            ApiError: If the server refuses, or no runner has done the task in time.
        """
        job = self._submit(STORY.job_with_changes)
        self._submit(STORY.job_to_confirm)
        ends = time.monotonic() + LONGEST_JOB_S
        while self._job(job)["state"] != "completed":
            if time.monotonic() > ends:
                raise ApiError(
                    f"the demonstration's task has not ended within {LONGEST_JOB_S} s: `baton jobs show {job}`"
                )
            time.sleep(POLL_S)

    def live(self, pause_s: float) -> Iterator[int]:
        """Make calls one after the other, until nobody asks for the next. Yield their number.

        Meanwhile a delegated agent asks a question, and another after its answer or denial by timeout.
        """
        asking = self._submit(STORY.job_with_question)
        for session in cycle(STORY.sessions):
            if self._job(asking).get("ended_at"):
                asking = self._submit(STORY.job_with_question)
            for _ in self._calls(session):
                yield self.calls
                time.sleep(pause_s)

    def leave(self) -> None:
        """Revoke the demonstration's tokens. Raise ApiError."""
        for token in self._tokens:
            self._admin.request("DELETE", f"/tokens/{token}", query={"reason": STORY.why})

    def _token(self, person: str, role: str, team: str) -> str:
        body = {"user": person, "role": role, "reason": STORY.why} | ({"team": team} if team else {})
        made = self._admin.request("POST", "/tokens", body=body)
        self._tokens.append(made["token"]["id"])
        return str(made["text"])

    def _submit(self, job: dict[str, Any]) -> str:
        assert self._own is not None  # noqa: S101 - its token was made before
        body = {"session_id": "demo-delegations", "workspace": STORY.workspace, "isolation": "worktree"} | job
        answer = self._own.request("POST", "/delegate", body=body, headers=self._headers("demo-ada"))
        return str(answer["job"]["id"])

    def _job(self, job: str) -> dict[str, Any]:
        assert self._own is not None  # noqa: S101 - its token was made before
        found: dict[str, Any] = self._own.request("GET", f"/jobs/{job}")
        return found

    def _calls(self, played: StorySession) -> Iterator[None]:
        person = played.person
        session = f"demo-{person.removeprefix('demo-')}-{secrets.token_hex(3)}"
        self._post(person, session, {"hook_event_name": "SessionStart", "source": "startup"})
        self._post(person, session, {"hook_event_name": "UserPromptSubmit", "prompt": played.prompt})
        for call in played.calls:
            self._call(person, session, call)
            yield

    def _call(self, person: str, session: str, call: StoryCall) -> None:
        """Ask for a call, and report its end as the client would. A refused one does not run, if the client obeys."""
        self.calls += 1
        event: dict[str, Any] = {
            "tool_name": call.tool,
            "tool_input": call.input,
            "tool_use_id": f"toolu_demo_{secrets.token_hex(6)}",
        }
        if call.sub:
            event |= {"agent_id": f"{session}-{call.sub}", "agent_type": call.sub}
        answer = self._post(person, session, {"hook_event_name": "PreToolUse", **event}) or {}
        specific = answer.get("hookSpecificOutput", {})
        if specific.get("permissionDecision") in {"deny", "ask"} and call.obeys:
            return
        event["tool_input"] = specific.get("updatedInput", call.input)
        response: dict[str, Any] = {"stdout": "", "stderr": ""}
        if model := event["tool_input"].get("model"):
            response = {
                "status": "completed",
                "agentType": call.input["subagent_type"],
                "resolvedModel": model,
                "usage": COSTS,
            }
        self._post(
            person, session, {"hook_event_name": "PostToolUse", "tool_response": response, "duration_ms": 840, **event}
        )

    def _post(self, person: str, session: str, event: dict[str, Any]) -> Any:
        headers = self._headers(person)
        body = {"session_id": session, "cwd": headers["Baton-Root"]} | event
        path = f"/hooks/{STORY.people[person].client}"
        return self._apis[person].request("POST", path, body=body, headers=headers)

    def _headers(self, person: str) -> dict[str, str]:
        project = STORY.teams[STORY.people[person].team].project
        return {"Baton-Project": project, "Baton-Root": f"/home/demo/{project.rpartition('/')[2]}"}


_ANY = {"If-Match": "*"}
"""A demonstration that is played again replaces what the last one set."""
