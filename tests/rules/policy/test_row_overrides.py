from baton.rules.policy.rules.files import overrides_of, with_override
from tests.support.cases import every

ROW = "overrides:\n  a/b:\n    model: opus\n"
AROUND = "# ours\nrules:\n  x/y: off  # for now\n\n{}lists:\n  z: [q]\n"


@every(
    ("text", "rest"),
    [
        ("", ""),
        ("# ours\nrules: {}\n", "# ours\nrules: {}\n\n"),
        ("overrides: {}\n", ""),
        ("overrides:\n  a/b:\n    model: haiku\n    role: r\n", ""),
        (AROUND.format("overrides:\n  # why\n  a/b:\n    model: haiku\n\n"), AROUND.format("") + "\n"),
        ("overrides: {a/b: {model: haiku}}\nrules: {}\n", "rules: {}\n\n"),
    ],
)
def test_an_override_is_set_and_the_rest_stays_as_written(text, rest):
    assert with_override(text, "a/b", {"model": "opus"}) == rest + ROW


def test_other_rows_stay_and_the_last_one_takes_the_key_with_it():
    both = with_override(ROW, "c/d", {"tools": ["x"]})
    assert overrides_of(both) == {"a/b": {"model": "opus"}, "c/d": {"tools": ["x"]}}
    assert with_override(with_override(both, "a/b", None), "c/d", None) == ""
