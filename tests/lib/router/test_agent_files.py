"""Agent files as people have them."""

import pytest

from baton.lib.router.agents import LARGEST, AgentFileError, read
from tests.support.cases import every

CLAUDE = """---
name: reviewer
description: Reviews code: carefully, and "kindly". <example>user: "look at my PR" assistant: "ok"</example>
tools: Read, Grep, Bash
model: sonnet
---

You review code.
"""
EXAMPLES = """---
name: reviewer
description: Use this agent for reviews: always. Examples:
<example>
context: a change is done.
user: "look at it"
note: it is small
</example>
user: "again"
triggers:
  - review
  - look at
---
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


def test_claude_code_s_markdown_is_accepted_with_invalid_yaml():
    found = read("x/reviewer.md", CLAUDE)
    assert found.name == "reviewer"
    assert found.description.startswith('Reviews code: carefully, and "kindly".')
    assert found.description.endswith("</example>")
    assert found.body == "You review code."


def test_yaml_brings_its_triggers_and_capabilities():
    agent = read("agent-debug.yaml", OMNI)
    assert (agent.name, agent.description, agent.body) == ("agent-debug", "Finds causes", "Look first.")
    assert agent.triggers == ("debug", "stack trace", "a failing build")
    assert agent.capabilities == ("root cause analysis", "bisecting")


def test_a_name_that_is_missing_is_the_file_s():
    assert read("agents/helper.md", "---\ndescription: |\n  one\n  two\n---\nx").name == "helper"
    assert read("helper.yml", "description: x").name == "helper"


@every(
    ("path", "text", "wrong"),
    [
        ("a.md", "no front matter", "front matter"),
        ("a.yaml", "- a\n- b", "mapping"),
        ("a.yaml", "a: [", "line"),
        ("a.txt", "x", "allowed"),
        ("a.md", "x" * (LARGEST + 1), "at most"),
    ],
)
def test_a_file_without_an_agent_is_reported(path, text, wrong):
    with pytest.raises(AgentFileError, match=wrong):
        read(path, text)


def test_examples_on_separate_lines_stay_in_the_description():
    agent = read("reviewer.md", EXAMPLES)
    assert (agent.name, agent.triggers) == ("reviewer", ("review", "look at"))
    assert agent.description == (
        'Use this agent for reviews: always. Examples:\n<example>\ncontext: a change is done.\nuser: "look at it"\n'
        'note: it is small\n</example>\nuser: "again"'
    )


@every(
    ("front", "description"),
    [
        ("description: >\n  one\n  two", "one two"),
        ("description: |\n  one\n  two", "one\ntwo"),
        ("description: |\n  one\n  two: three\ntools: a: b", "one\ntwo: three"),
        ("description: 'it''s: quoted'", "it's: quoted"),
        ('description: "a\\nb"', "a\nb"),
        ("description: a\\nb: c", "a\\nb: c"),
        ("description: [one, two]", "one\ntwo"),
        ("description: a: b <example>\nmodel: opus", "a: b <example>"),
        ("description:", ""),
        ("tools: Read, Bash", ""),
    ],
)
def test_a_description_is_read_unchanged(front, description):
    agent = read("a.md", f"---\n{front}\n---\nbody")
    assert (agent.name, agent.description, agent.body) == ("a", description, "body")


@every(
    ("value", "triggers"),
    [
        ("deploy, release", ("deploy", "release")),
        ("/a{1,2}/", ("/a{1,2}/",)),
        ("[deploy, release]", ("deploy", "release")),
        ("\n  - deploy\n  - release", ("deploy", "release")),
    ],
)
@every("more", ["", "\nmodel: a: b"])
def test_triggers_are_a_list_or_a_text_with_commas_also_where_the_rest_is_no_yaml(value, triggers, more):
    assert read("a.md", f"---\nname: a\ntriggers: {value}{more}\n---\nb").triggers == triggers


def test_a_name_of_digits_is_a_name():
    assert read("a.md", "---\nname: 7\n---\nb").name == "7"


def test_windows_line_ends_and_a_byte_order_mark_are_read():
    assert read("a.md", "\ufeff---\r\nname: w\r\ndescription: d\r\n---\r\nbody\r\n").name == "w"
