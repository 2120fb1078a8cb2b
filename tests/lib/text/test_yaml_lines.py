from typing import Annotated, Literal

import msgspec
import pytest

from baton.lib.text.yaml_lines import ProblemError, YamlError, fit, parse
from tests.support.cases import every


class Condition(msgspec.Struct, forbid_unknown_fields=True):
    tools: list[str] = []


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    match: Condition | list[Condition] = []
    modes: dict[str, list[Literal["strict", "guidance"]]] = {}
    span: Annotated[str, msgspec.Meta(pattern="^[1-9]m$", description="`1m` to `9m`")] | None = None


def test_every_path_has_its_line():
    data, lines = parse("id: x\nmatch:\n  - tools: [a,\n      b]\n")
    assert data == {"id": "x", "match": [{"tools": ["a", "b"]}]}
    assert lines["match",] == 2
    assert lines["match", 0, "tools"] == 3
    assert lines["match", 0, "tools", 1] == 4


def test_plain_words_are_text_and_keys_always():
    data, _ = parse("true: on\n1: 2026-01-01\nyes: [true, null, 1, 1.5, '1']\n")
    assert data == {"true": "on", "1": "2026-01-01", "yes": [True, None, 1, 1.5, "1"]}


@every(
    ("text", "line", "says"),
    [
        ("a: &x 1", 1, "anchors"),
        ("a: 1\nb: *x", 2, "aliases"),
        ("a: 1\na: 2", 2, "duplicate key `a`"),
        ("a: !!python/name:os.system 1", 1, "tag"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("a:\n  - b: [", 3, "not valid YAML"),
        ("a: 1: 2", 1, "not valid YAML: mapping values are not allowed in this context"),
        ("a: \x00", 1, "not valid YAML"),
        ("a: \ud800", 1, "not valid YAML"),
        ("[" * 5000, 1, "nested deeper"),
        ("? [a]\n: b", 1, "a key must be plain text"),
    ],
)
def test_unsupported_yaml_is_an_error_with_its_line(text, line, says):
    with pytest.raises(YamlError) as raised:
        parse(text)
    assert (raised.value.line, says in raised.value.text) == (line, True)


@every(
    ("text", "problem"),
    [
        ("id: x\nmatch:\n  - tools: [a]\n  - tool: [b]", "f.yaml:4: unknown key `tool`; did you mean `tools`?"),
        ("idd: x", "f.yaml:1: unknown key `idd`; did you mean `id`?"),
        ("id: x\nmatch:\n  tools: [1]", "f.yaml:3: `tools`: expected `str`, got `int`"),
        ("id:\n  - 1", "f.yaml:1: `id`: expected `str`, got `array`"),
        ("match: []", "f.yaml:1: missing key `id`"),
        ("id: x\nspan: 10m", "f.yaml:2: `span`: expected `1m` to `9m`"),
        ("id: x\nmodes: {a: [stict]}", "f.yaml:2: `modes`: `stict` is not allowed; did you mean `strict`?"),
        ("id: x\nmodes: {a: [off]}", "f.yaml:2: `modes`: `off` is not allowed; allowed: `guidance`, `strict`"),
    ],
)
def test_a_misfit_is_a_problem_with_file_line_and_a_likely_spelling(text, problem):
    with pytest.raises(ProblemError) as raised:
        fit("f.yaml", *parse(text), Rule)
    assert str(raised.value.problem) == problem
