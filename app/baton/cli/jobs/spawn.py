"""`baton spawn`: check whether an agent may be started, and how; start it with `--run`."""

from typing import Annotated, Any

import typer

from baton.cli.jobs.arguments import (
    Concurrent,
    Inactivity,
    Isolation,
    QueueExpiry,
    Thread,
    Timeout,
    Workspace,
    arguments,
)
from baton.cli.jobs.job_card import waiting_line
from baton.cli.options import AsJson
from baton.cli.output import end_with_json, plain
from baton.local.server import Api

By = Annotated[str, typer.Option(help="The agent starting it.")]
Why = Annotated[str, typer.Option(help="An orchestrator's reason for delegating.")]
Outcome = Annotated[str, typer.Option(help="The outcome expected by the orchestrator.")]
Tools = Annotated[str, typer.Option(help="Required tools: Read,Grep.")]
Model = Annotated[str, typer.Option(help="Use this model instead of the roster's.")]
Thinking = Annotated[int, typer.Option(min=0, help="Its thinking budget, in tokens.")]
Roster = Annotated[str, typer.Option(help="The roster to look in. Default: all rosters of the team.")]
_TERMINAL = {"green": "green", "blue": "blue", "purple": "magenta"}
"""The tiers' colours, as terminals name them."""


def spawn(
    agent_type: Annotated[str, typer.Argument(help="The agent, as a roster calls it.")],
    prompt: Annotated[str, typer.Argument(help="Its task.")],
    description: Annotated[str, typer.Option(help="The task in a few words.")] = "",
    by: By = "",
    reason: Why = "",
    outcome: Outcome = "",
    tools: Tools = "",
    model: Model = "",
    thinking: Thinking = 0,
    session: Annotated[str, typer.Option(help="Its session.")] = "",
    workspace: Workspace = "",
    isolation: Isolation = "",
    timeout: Timeout = None,
    inactivity_timeout: Inactivity = None,
    thread: Thread = "",
    concurrent: Concurrent = False,
    queue_expiry: QueueExpiry = None,
    roster: Roster = "",
    run: Annotated[bool, typer.Option("--run", help="Run it on one of your runners.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check whether an agent may be started, and start it."""
    body = fields(prompt=prompt, by=by, reason=reason, outcome=outcome, tools=tools, model=model, thinking=thinking) | {
        "agent_type": agent_type,
        "description": description,
        "session_id": session,
        **arguments(
            workspace=workspace,
            isolation=isolation,
            timeout=timeout,
            inactivity_timeout=inactivity_timeout,
            thread=thread,
            concurrent=concurrent,
            queue_expiry=queue_expiry,
        ),
    }
    body |= {"roster": roster, "execute": "run" if run else "plan"}
    found = Api().request("POST", "/spawn", body=body)
    end_with_json(found, when=as_json)
    show_plan(found)


def fields(*, prompt: str, by: str, reason: str, outcome: str, tools: str, model: str, thinking: int) -> dict[str, Any]:
    """Return the common fields of requests to start an agent."""
    return {
        "prompt": prompt,
        "spawning_agent": by,
        "delegation_reason": reason,
        "expected_outcome": outcome,
        "required_tools": [tool.strip() for tool in tools.split(",") if tool.strip()],
        "model": model,
        "thinking_budget": thinking,
    }


def show_plan(plan: dict[str, Any]) -> None:
    """Print the plan of a start."""
    task = f"task {plan['task']}: " if "task" in plan else ""
    print(plain(f"{task}{plan['agent_type']} of roster {plan['roster']}, {plan['task_id']}"))
    colour = plan.get("colour", "")
    tier = f"{typer.style(plan['tier'], fg=_TERMINAL[colour])} ({colour})" if colour else "no tier"
    typer.echo(
        f"  model      {plan['display_model']}, {tier}; the client runs on {plan.get('cli_model', 'its own default')}"
    )
    delegation = plan.get("delegation")
    if delegation:
        fixed = ", ".join(
            f"{name}={delegation[name]}" for name in ("max_turns", "reasoning_effort") if name in delegation
        )
        print(
            plain(
                f"  delegates  {delegation.get('call', '-')} → {delegation['target']}{f' ({fixed})' if fixed else ''}"
            )
        )
    print(f"  tools      {', '.join(plan.get('tools', ['all']))}")
    shown = [word if word != plan["system_prompt"] else "…" for word in plan["argv"]]
    env = "".join(f"{name}={value} " for name, value in plan["env"].items())
    print(plain(f"  command    {env}{' '.join(shown)} < prompt"))
    for line in plan["system_prompt"].splitlines():
        print(plain(f"  | {line}"))
    for note in (*plan["notes"], *([plan["violation"]] if "violation" in plan else [])):
        print(plain(f"  note: {note}"))
    if "job" in plan:
        print(
            f"  job {plan['job']['id']} is {plan['job']['state']}; follow it with: baton jobs show {plan['job']['id']} --follow"
        )
        if "waiting" in plan["job"]:
            print(f"  {waiting_line(plan['job']['waiting'])}")
