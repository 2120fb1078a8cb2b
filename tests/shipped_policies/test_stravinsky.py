"""The roster `stravinsky` against the tables of its report, cell by cell."""

import pytest

from baton.rules.agents.judge import Spawn, judge
from baton.rules.agents.plan import COLOURS
from baton.rules.agents.rosters import Rosters
from tests.support.cases import every

DISPLAY = """
explore             gemini-3-flash     CHEAP
dewey               gemini-3-flash     CHEAP
document_writer     gemini-3-flash     CHEAP
multimodal          gemini-3-flash     CHEAP
research-lead       gemini-3-flash     CHEAP
implementation-lead claude-sonnet-4.5  MEDIUM
momus               gemini-3-flash     CHEAP
comment_checker     gemini-3-flash     CHEAP
debugger            claude-sonnet-4.5  MEDIUM
code-reviewer       gemini-3-flash     CHEAP
frontend            gemini-3-pro-high  MEDIUM
delphi              gpt-5.2            EXPENSIVE
planner             opus-4.5           EXPENSIVE
stravinsky          sonnet-4.5         EXPENSIVE
"""
"""The last line is `_default`, which stands for the agent without a line of its own."""
CLI = {"implementation-lead": "sonnet", "debugger": "sonnet", "planner": "opus", "stravinsky": "sonnet"}
DELEGATION = """
explore         invoke_gemini_agentic gemini-3-flash
dewey           invoke_gemini_agentic gemini-3-flash
delphi          invoke_openai         gpt-5.2-codex
frontend        invoke_gemini_agentic gemini-3-pro
code-reviewer   invoke_gemini_agentic gemini-3-flash
momus           invoke_gemini_agentic gemini-3-flash
document_writer invoke_gemini_agentic gemini-3-flash
multimodal      invoke_gemini         gemini-3-flash
comment_checker invoke_gemini_agentic gemini-3-flash
"""
ORCHESTRATORS = {"stravinsky", "research-lead", "implementation-lead"}
WORKERS = {
    "explore", "dewey", "delphi", "frontend", "debugger", "code-reviewer", "momus", "comment_checker",
    "document_writer", "multimodal", "planner",
}  # fmt: skip
TOOLS = """
stravinsky: *
research-lead: agent_spawn, agent_output, invoke_gemini, Read, Grep, Glob
implementation-lead: agent_spawn, agent_output, lsp_diagnostics, Read, Edit, Write, Grep, Glob
explore: Read, Grep, Glob, Bash, semantic_search, ast_grep_search, lsp_workspace_symbols
dewey: Read, Grep, Glob, Bash, WebSearch, WebFetch
frontend: Read, Edit, Write, Grep, Glob, Bash, invoke_gemini
delphi: Read, Grep, Glob, Bash, invoke_openai
debugger: Read, Grep, Glob, Bash, lsp_diagnostics, lsp_hover, ast_grep_search
code-reviewer: Read, Grep, Glob, Bash, lsp_diagnostics, ast_grep_search
momus: Read, Grep, Glob, Bash, lsp_diagnostics, ast_grep_search
comment_checker: Read, Grep, Glob, Bash, ast_grep_search, lsp_document_symbols
document_writer: Read, Write, Grep, Glob, Bash, invoke_gemini
multimodal: Read, invoke_gemini
planner: Read, Grep, Glob, Bash
"""
COST = {
    "green": "explore dewey document_writer multimodal research-lead momus comment_checker code-reviewer",
    "blue": "implementation-lead debugger frontend",
    "purple": "delphi planner",
}
FIXED = {"invoke_gemini_agentic": {"max_turns": 10}, "invoke_openai": {"reasoning_effort": "high"}, "invoke_gemini": {}}


def lines(table):
    return [line.split() for line in table.strip().splitlines()]


@pytest.fixture(scope="module")
def rosters(shipped):
    return Rosters(shipped.rosters.by_id, ["stravinsky"], {})


@pytest.fixture(scope="module")
def rows(rosters):
    return rosters.by_id["stravinsky"].agents


@pytest.fixture
def plan(rosters):
    return lambda agent, **more: judge(rosters, Spawn(agent_type=agent, prompt="Find it", **more), "agent_1")


def test_it_has_the_agents_of_the_tables_and_no_other(rows):
    assert rows.keys() == ORCHESTRATORS | WORKERS | {"_default"}
    assert {name for name, row in rows.items() if row.role == "orchestrator"} == ORCHESTRATORS
    assert {name for name, row in rows.items() if row.role == "worker"} == WORKERS


@every(("agent", "display", "tier"), lines(DISPLAY))
def test_models_and_cost_tiers(plan, agent, display, tier):
    found = plan(agent)
    assert (found.display_model, found.tier, found.cli_model) == (display, tier, CLI.get(agent, ""))
    assert ("--model" in found.argv) == (agent in CLI)


def test_an_agent_without_a_display_model_has_the_default_s(rows):
    default = rows["_default"]
    assert (default.display_model, default.tier, default.cli_model) == ("sonnet-4.5", "EXPENSIVE", "sonnet")


@every(("colour", "agents"), COST.items())
def test_colours_of_the_cost_tiers(plan, colour, agents):
    assert {plan(agent).colour for agent in agents.split()} == {colour}
    assert colour in COLOURS.values()


@every("line", TOOLS.strip().splitlines())
def test_tools(rows, line):
    agent, _, tools = line.partition(": ")
    assert rows[agent].tools == tools.split(", ")


@every(("agent", "call", "target"), lines(DELEGATION))
def test_thin_wrappers_delegate_at_once(plan, agent, call, target):
    found = plan(agent)
    assert f"IMMEDIATELY call {call} " in found.system_prompt
    assert (found.delegation.call, found.delegation.target) == (call, target)
    assert f'model="{target}"' in found.instruction
    for name, value in FIXED[call].items():
        assert getattr(found.delegation, name) == value
        assert name in found.instruction
    assert call in found.tools


def test_the_debugger_works_itself_and_then_asks_delphi_s_model(plan):
    found = plan("debugger")
    assert (found.delegation.target, found.delegation.call) == ("gpt-5.2-codex", "invoke_openai")
    assert "IMMEDIATELY" not in found.instruction
    assert "gpt-5.2-codex" in found.instruction
    assert "invoke_openai" in found.tools


@every("agent", ["stravinsky", "research-lead", "implementation-lead", "planner"])
def test_the_others_delegate_to_no_model(plan, agent):
    assert (plan(agent).delegation, plan(agent).instruction) == (None, "")


@every("spawner", sorted(WORKERS))
@every("target", ["stravinsky", "explore"])
def test_workers_start_no_agents(plan, spawner, target):
    refusal = plan(target, spawning_agent=spawner)
    assert refusal.code == "hierarchy"
    assert set(refusal.allowed) == ORCHESTRATORS


@every("spawner", sorted(ORCHESTRATORS))
@every("target", sorted(ORCHESTRATORS | WORKERS))
def test_orchestrators_start_everybody(plan, spawner, target):
    said = {"delegation_reason": "cheap", "expected_outcome": "a list", "required_tools": ("Read",)}
    assert plan(target, spawning_agent=spawner, **said).agent == target
