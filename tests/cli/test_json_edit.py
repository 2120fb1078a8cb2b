"""Single values change in a JSON text, and no other byte."""

import json

import pytest

from baton.cli.hooks.json_edit import UnclearError, check, drop, line_of, put
from tests.support.cases import every


@every(
    ("text", "path", "value", "result"),
    [
        ("{}", ["a"], 1, '{\n  "a": 1\n}'),
        ("{ }\n", ["a"], {}, '{\n  "a": {}\n}\n'),
        ('{"a":1.10}', ["b"], [1], '{"a":1.10,\n  "b": [\n    1\n  ]}'),
        ('{\n\t"a": {"b" : [ ]}\n}', ["a", "b", 0], "x", '{\n\t"a": {"b" : [\n\t\t\t"x"\n\t\t]}\n}'),
        ('{\r\n    "a": 1\r\n}', ["b"], [], '{\r\n    "a": 1,\r\n    "b": []\r\n}'),
        ('{"a": {"x": 1}, "b": 2}', ["a"], 0, '{"a": 0, "b": 2}'),
        ('{"é\\u00e9": "}]", "b": [1, 2]}', ["b", 0], "é", '{"é\\u00e9": "}]", "b": ["é", 2]}'),
    ],
)
def test_put(text, path, value, result):
    assert put(text, path, value) == result
    assert json.loads(result)


@every(
    ("text", "path", "result"),
    [
        ('{ "a": 1 }', ["a"], "{}"),
        ('{ "a": 1, "b": 2 }', ["a"], '{ "b": 2 }'),
        ('{ "a": 1,\n "b": 2 , "c": 3}', ["b"], '{ "a": 1 , "c": 3}'),
        ('{ "a": 1,\n "b": 2\n}', ["b"], '{ "a": 1\n}'),
        ('{"a": [ [1], {"x": "]"} ]}', ["a", 0], '{"a": [ {"x": "]"} ]}'),
    ],
)
def test_drop(text, path, result):
    assert drop(text, path) == result


@every(
    ("text", "line", "why"),
    [
        ("", 1, "not valid JSON"),
        ("[]", 1, "not an object"),
        ('{\n  # mine\n  "a": 1\n}', 2, "not valid JSON"),
        ('{\n  "a": 1\n  /* open', 3, "not valid JSON"),
        ('{\n "a": 1,\n}', 3, "not valid JSON"),
        ('{"a": 1}\n{', 2, "not valid JSON"),
        ('{\n "a": {"b": 1,\n"b": 2}}', 3, "key `b` appears twice"),
        ("\ufeff{}", 1, "not valid JSON"),
        ("[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_unreadable_json_is_refused_with_its_line(text, line, why):
    with pytest.raises(UnclearError, match=why) as caught:
        check(text)
    assert caught.value.line == line


def test_a_value_has_a_line():
    assert line_of('{\n "a": [\n  1,\n  {"b": 2}]}', ["a", 1, "b"]) == 4


COMMENTED = [
    '{\n  // mine\n  "a": 1, /* y */\n  "b": [1, // one\n    2] // last\n  // end\n}\n',
    "{ // only\n}",
    '{\r\n  /* a,\r\n b */ "a": "// no /* comment */ \\" \\\\" // c\r\n}',
    '{"a": 1 /* 1 */, "b": 2 /* 2 */}',
    '{"a": {} // one\n}',
]
COMMENTS = ["// mine", "/* y */", "// last", "// end", "// only", "/* a,", "// c", "/* 1 */", "/* 2 */"]


@every("text", COMMENTED)
def test_comments_stay_and_an_added_value_is_removed_without_a_trace(text):
    added = put(text, ["hooks"], {"x": [1]})
    assert check(added) == check(text) | {"hooks": {"x": [1]}}
    assert [one in added for one in COMMENTS] == [one in text for one in COMMENTS]
    assert drop(added, ["hooks"]) == text


@every("text", COMMENTED)
def test_a_comment_beside_a_removed_value_stays(text):
    for key in check(text):
        left = drop(text, [key])
        assert check(left) == {name: value for name, value in check(text).items() if name != key}
        assert [one in left for one in COMMENTS] == [one in text for one in COMMENTS]
