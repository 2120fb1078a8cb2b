"""What counts as an identifier, on both sides of the comparison."""

import pytest

from baton.context.utilization.identifiers import LONGEST_INPUT, MOST_USED, of_call, of_section, of_text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("- `src/cart.py`: class `Cart` (line 3)", {"cart.py", "cart"}),
        ("- `src/tax/__init__.py`", {"tax/__init__.py"}),
        ("look at src/cart.py and rate_for", {"cart.py", "rate_for"}),
        ("TaxTable is slow, the rest is prose", {"taxtable"}),
        ("`Cart.add_item` takes", {"cart", "add_item"}),
        ("only words of prose here", set()),
        ("run `pytest tests/cart -q` again", {"pytest"}),
    ],
)
def test_a_section_names_what_is_in_backticks_or_shaped_like_code(text, names):
    assert of_section(text) == names


@pytest.mark.parametrize(
    ("tool_input", "name"),
    [
        ({"file_path": "/home/ann/shop/src/cart.py"}, "cart.py"),
        ({"file_path": "C:\\shop\\src\\cart.py"}, "cart.py"),
        ({"file_path": "/x/tax/__init__.py"}, "tax/__init__.py"),
        ({"pattern": "rate_for\\("}, "rate_for"),
        ({"command": "grep -rn TaxTable src"}, "taxtable"),
        ({"edits": [{"new_string": "return Cart.add_item(x)"}]}, "add_item"),
        ({"subagent_type": "explore"}, "explore"),
    ],
)
def test_a_call_names_what_stands_anywhere_in_its_input(tool_input, name):
    assert name in of_call(tool_input)


def test_the_work_is_bounded():
    assert len(of_call({"content": " ".join(f"name_{n}" for n in range(50_000))})) <= MOST_USED
    assert of_call({"content": " " * LONGEST_INPUT + "too_late"}) == []
    assert of_call({"a": {"b": {"c": {"d": {"e": {"f": "too_deep"}}}}}}) == []
    assert of_call({"n": 3, "none": None, "list": [1, [2]]}) == []


def test_a_prompt_means_each_of_its_words():
    assert {"cart", "add_item", "cart.py"} <= of_text("mend Cart.add_item in src/cart.py")
