"""Agent files as people have them."""

import pytest

from app.engine.routing.agent_files import LARGEST, AgentFileError, read

CLAUDE = """---
name: reviewer
description: Reviews code: carefully, and "kindly". <example>user: "look at my PR" assistant: "ok"</example>
tools: Read, Grep, Bash
model: sonnet
---

You review code.
"""
OMNI = """
schema_version: "1.0"
agent_type: debug_agent
agent_identity:
  name: agent-debug
  title: Debugger
  description: Finds causes
activation_patterns:
  explicit_triggers: [debug, "stack trace"]
  context_triggers:
    - a failing build
capabilities:
  primary: [root cause analysis]
  secondary: {a: [bisecting]}
instructions: Look first.
"""


def test_claude_code_s_markdown_is_taken_as_it_is_even_where_it_is_no_yaml():
    found = read("x/reviewer.md", CLAUDE)
    assert found.agent.name == "reviewer"
    assert found.agent.description.startswith('Reviews code: carefully, and "kindly".')
    assert found.agent.body == "You review code."
    assert (found.model, found.tools) == ("sonnet", ("Read", "Grep", "Bash"))


def test_yaml_brings_its_triggers_and_capabilities():
    agent = read("agent-debug.yaml", OMNI).agent
    assert (agent.name, agent.description, agent.body) == ("agent-debug", "Finds causes", "Look first.")
    assert agent.triggers == ("debug", "stack trace", "a failing build")
    assert agent.capabilities == ("root cause analysis", "bisecting")


def test_a_name_that_is_missing_is_the_file_s():
    assert read("agents/helper.md", "---\ndescription: |\n  one\n  two\n---\nx").agent.name == "helper"
    assert read("helper.yml", "description: x").agent.name == "helper"


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("a.md", "no front matter", "front matter"),
        ("a.yaml", "- a\n- b", "mapping"),
        ("a.yaml", "a: [", "line"),
        ("a.txt", "x", "allowed"),
        ("a.md", "x" * (LARGEST + 1), "at most"),
    ],
)
def test_what_is_no_agent_is_told(path, text, wrong):
    with pytest.raises(AgentFileError, match=wrong):
        read(path, text)


def test_windows_line_ends_and_a_byte_order_mark_are_read():
    assert read("a.md", "\ufeff---\r\nname: w\r\ndescription: d\r\n---\r\nbody\r\n").agent.name == "w"
