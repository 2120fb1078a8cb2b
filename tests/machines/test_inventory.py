"""A client's agents: reading of a shim's text, bounds and cleaning."""

import pytest

from baton.kernel.base.errors import Invalid
from baton.machines.inventory import LARGEST, MOST_AGENTS, read
from tests.support.cases import every

TEXT = """\
= project reviewer.md
 name: code-reviewer
 description: Reviews changes.
 model: haiku
= user reviewer.md
 name: code-reviewer
 description: Another one.
= plugin:tools explore.md
 name: explore
 model: inherit
"""


def names(client, text):
    return [agent.name for agent in read(client, text).agents]


def test_the_first_of_a_name_counts_and_a_plugin_s_agent_has_its_namespace():
    inventory = read("claude-code", TEXT)
    assert [(one.name, one.model, one.source) for one in inventory.agents] == [
        ("code-reviewer", "haiku", "project"),
        ("tools:explore", "inherit", "plugin"),
    ]
    assert inventory.agent("code-reviewer").description == "Reviews changes."
    assert inventory.agent("explore") is inventory.agent("tools:explore")
    assert inventory.agent("nobody") is None


def test_a_bare_name_that_two_plugins_have_means_neither():
    text = "= plugin:a x.md\n name: x\n= plugin:b x.md\n name: x\n"
    assert read("claude-code", text).agent("x") is None


@every(
    ("client", "text", "expected"),
    [
        ("claude-code", "= user a.md\n description: no name\n", ["a"]),
        ("copilot-cli", "= project reviewer.agent.md\n name: Code Reviewer\n", ["reviewer"]),
        ("opencode", "= project docs.md\n name: other\n mode: subagent\n", ["docs"]),
        ("opencode", "= project main.md\n mode: primary\n", []),
        ("opencode", "= project off.md\n disable: true\n", []),
        ("claude-code", "= user a.md\n name: two words\n", []),
        ("claude-code", "= user a.md\n name: it's\n= user b.md\n name: '`x`'\n= user c.md\n name: -x\n", []),
        ("claude-code", "= user a.md\n name: 名前\n", ["名前"]),
        ("claude-code", "= user " + "a" * 150 + ".md\n", []),
        ("claude-code", "", []),
    ],
)
def test_an_agent_has_the_name_that_its_client_calls_it_by(client, text, expected):
    assert names(client, text) == expected


def test_a_description_is_one_short_line_without_secrets_and_markup():
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    text = f"= user a.md\n name: a\n description: |\n   # Heading\n   Use `me`. {secret}\n   {'long ' * 1_000}\n"
    (agent,) = read("claude-code", text).agents
    assert secret not in agent.description
    assert "\n" not in agent.description
    assert len(agent.description) <= 1_001


@every("model", ["rm -rf /", "a\tb", "x" * 300, "[1, 2]"])
def test_an_invalid_model_name_is_dropped(model):
    assert read("claude-code", f"= user a.md\n name: a\n model: {model}\n").agents[0].model == ""


@every(
    ("text", "why"),
    [
        ("no head\n", "line 1 is `no head`"),
        ("= nowhere a.md\n", "allowed|one of"),
        (" a: b\n", "line 1"),
        ("= user a.md\n" + " x\n" * LARGEST, "at most"),
    ],
)
def test_another_form_is_refused(text, why):
    with pytest.raises(Invalid, match=why):
        read("claude-code", text)


def test_the_number_of_agents_is_bounded():
    text = "".join(f"= user a{number}.md\n name: a{number}\n" for number in range(MOST_AGENTS + 50))
    assert len(names("claude-code", text)) == MOST_AGENTS
