"""The main paths as a team's program would write them, on the generated client. It is typed and run, not shipped.

A change of the API that breaks such a program breaks this file: in mypy by `make clients`, live in `make test`.
"""

import sys
from typing import TypeVar

from baton_client import AuthenticatedClient
from baton_client.api.decisions import list_decisions, pre_tool_use
from baton_client.api.health import get_healthz, get_readyz, get_status
from baton_client.api.hooks import client_hook
from baton_client.api.mode import delete_mode, get_mode, put_mode
from baton_client.api.policies import evaluate_policies, get_policies
from baton_client.api.rosters import delete_roster, get_roster, put_roster
from baton_client.api.routing import get_routing_agent, give_route_feedback, route_prompt
from baton_client.api.sessions import post_tool_use, session_end, session_start
from baton_client.models.agent_body import AgentBody
from baton_client.models.agent_definition_model import AgentDefinitionModel
from baton_client.models.alive import Alive
from baton_client.models.client_hook_body import ClientHookBody
from baton_client.models.decision_page import DecisionPage
from baton_client.models.evaluate_answer import EvaluateAnswer
from baton_client.models.evaluate_policies_body import EvaluatePoliciesBody
from baton_client.models.mode_body import ModeBody
from baton_client.models.mode_model import ModeModel
from baton_client.models.mode_setting_model import ModeSettingModel
from baton_client.models.policies_model import PoliciesModel
from baton_client.models.post_tool_use_body import PostToolUseBody
from baton_client.models.pre_tool_use_answer import PreToolUseAnswer
from baton_client.models.pre_tool_use_body import PreToolUseBody
from baton_client.models.problem_model import ProblemModel
from baton_client.models.pushed_roster_model import PushedRosterModel
from baton_client.models.ready import Ready
from baton_client.models.roster_body import RosterBody
from baton_client.models.route_answer import RouteAnswer
from baton_client.models.route_feedback_body import RouteFeedbackBody
from baton_client.models.route_feedback_model import RouteFeedbackModel
from baton_client.models.route_prompt_body import RoutePromptBody
from baton_client.models.session_end_body import SessionEndBody
from baton_client.models.session_start_answer import SessionStartAnswer
from baton_client.models.session_start_body import SessionStartBody
from baton_client.models.status_model import StatusModel

T = TypeVar("T")


def expect(kind: type[T], answer: object) -> T:
    """Give an answer that is of the kind that the program works with."""
    assert isinstance(answer, kind), answer
    return answer


def walk(client: AuthenticatedClient, session: str) -> None:
    """Work through one session from its start to its end."""
    assert expect(Alive, get_healthz.sync(client=client)).status == "ok"
    ready = expect(Ready, get_readyz.sync(client=client))
    assert expect(StatusModel, get_status.sync(client=client)).policy_revision == ready.policy_revision
    assert any(rule.enabled for rule in expect(PoliciesModel, get_policies.sync(client=client)).rules)

    strict = ModeBody(scope="session", id=session, enabled=True, level="strict", reason="usage")
    assert expect(ModeSettingModel, put_mode.sync(client=client, body=strict)).level == "strict"
    started = session_start.sync(client=client, body=SessionStartBody(session_id=session, cwd=f"/home/ada/{session}"))
    assert expect(SessionStartAnswer, started).mode.enabled

    edit = {"session_id": session, "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
    blocked = expect(PreToolUseAnswer, pre_tool_use.sync(client=client, body=PreToolUseBody.from_dict(edit)))
    assert (blocked.decision, blocked.continue_) == ("block", False)
    judged = evaluate_policies.sync(client=client, body=EvaluatePoliciesBody.from_dict(edit | {"level": "off"}))
    assert expect(EvaluateAnswer, judged).decision == "allow"
    native = ClientHookBody.from_dict(edit | {"hook_event_name": "PreToolUse"})
    assert client_hook.sync_detailed("claude-code", client=client, body=native).status_code == 200

    post_tool_use.sync(client=client, body=PostToolUseBody.from_dict(edit | {"tool_response": {"ok": True}}))
    page = expect(DecisionPage, list_decisions.sync(client=client, session_id=session, limit=10))
    assert all(item.session_id == session for item in page.items)
    refused = expect(ProblemModel, list_decisions.sync(client=client, limit=0))
    assert (refused.status, refused.errors[0].field if refused.errors else "") == (422, "limit")

    lead(client, session)
    session_end.sync(client=client, body=SessionEndBody(session_id=session, reason="done"))
    assert delete_mode.sync_detailed(client=client, scope="session", id=session).status_code == 204
    assert not expect(ModeModel, get_mode.sync(client=client, session_id=session)).enabled


def lead(client: AuthenticatedClient, session: str) -> None:
    """Push a roster, lead a prompt to one of its agents, read what that agent is, and say that it was right."""
    mender = AgentBody(
        name="bicycle-mechanic",
        description="Repairs bicycles: chains, brakes, wheels.",
        body="Look at the chain, the brakes and the wheels of the bicycle before you repair it.",
    )
    roster = RosterBody(agents=[mender, AgentBody(name="gardener", description="Tends tomatoes and seedlings.")])
    assert expect(PushedRosterModel, put_roster.sync("workshop", client=client, body=roster)).agents == 2
    assert expect(PushedRosterModel, get_roster.sync("workshop", client=client)).agents == 2

    prompt = RoutePromptBody(prompt="the brakes of my bicycle squeak", session_id=session, roster="workshop")
    led = expect(RouteAnswer, route_prompt.sync(client=client, body=prompt))
    assert (led.selected_agent, led.candidates[0].name) == ("bicycle-mechanic", "bicycle-mechanic")
    found = expect(AgentDefinitionModel, get_routing_agent.sync("workshop", led.selected_agent, client=client))
    assert found.body == mender.body
    right = RouteFeedbackBody(agent=led.selected_agent)
    said = give_route_feedback.sync(led.id, client=client, body=right)
    assert expect(RouteFeedbackModel, said).selected_agent == led.selected_agent
    assert delete_roster.sync_detailed("workshop", client=client).status_code == 204


if __name__ == "__main__":
    url, token = sys.argv[1:3]
    walk(AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True), "usage-python")
