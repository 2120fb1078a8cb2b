import pytest

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.load import layered, load
from tests.support.shipped import shipped_files

SHELL = {path: text for path, text in shipped_files().items() if path.startswith("shell/")}
CONFIG = """
rosters: [team]
never_block: [Task, "*__*"]
shell_tools: {Bash: command}
patch_tools: {apply_patch: command}
agent_tools: [Task, Agent]
path_keys: [file_path]
lists: {edits: [Edit, Write]}
"""
ROSTER = "id: team\ndescription: Ours.\nagents: {explore: {model: haiku}, coder: {model: opus}}\n"
RULE = """
id: {id}
description: A rule.
who: {who}
{modes}
match: {match}
unless: {unless}
decision: {decision}
reason: {reason}
{extra}
tests:
  match: [{yes}]
  not_match: [{no}]
"""


def rule_text(
    rule_id="team/rule",
    match="{tools: Edit}",
    decision="deny",
    *,
    who="any",
    modes=None,
    unless="[]",
    reason="because",
    extra="",
    yes="{tool: Edit}",
    no="{tool: Other}",
):
    lines = "" if modes is None else f"modes: {modes}"
    return RULE.format(
        id=rule_id,
        who=who,
        modes=lines,
        match=match,
        unless=unless,
        decision=decision,
        reason=reason,
        extra=extra,
        yes=yes,
        no=no,
    )


@pytest.fixture(name="shipped_files")
def _shipped_files():
    return dict(shipped_files())


@pytest.fixture
def rule():
    return rule_text


@pytest.fixture
def build():
    """A set of these rules, given as texts by id, with a small configuration."""

    def build_set(rules, config=CONFIG, **more):
        files = {"config.yaml": config, "agents/team.yaml": ROSTER, **SHELL}
        return load(layered(files | {f"{rule_id}.yaml": text for rule_id, text in rules.items()} | more))

    return build_set


@pytest.fixture
def facts():
    def make(tool="Edit", tool_input=None, *, level="strict", agent_id="", history=(), accepts=("*",), **more):
        call = {"agent_type": more.pop("agent_type", "")}
        return Facts(
            call=ToolCall(
                client="test",
                session_id="session-1",
                tool_name=tool,
                tool_input={"command": tool_input} if isinstance(tool_input, str) else tool_input or {},
                agent_id=agent_id,
                cwd="/repo",
                project_root="/repo",
                **call,
            ),
            level=level,
            history=history,
            accepts_rewrites=frozenset(accepts),
            **more,
        )

    return make
