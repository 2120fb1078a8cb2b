"""The limit of decoded JSON, and the equal meaning of large bodies decoded at once or in steps."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.kernel.base.errors import TooLarge
from baton.kernel.http.serving import hot_routes
from baton.kernel.http.serving.hot_routes import bounded, decode_large, decode_object
from tests.support.cases import every
from tests.support.examples import examples

ODD = st.text(st.sampled_from([*'\\"\nab ,:[{}', "é", "日", "\U0001f600", "\ud83d", "\ude00", "\x00"]), max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | ODD,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(ODD, below, max_size=4),
    max_leaves=30,
)


def parts(value):
    """Count a value, those in it, and their keys."""
    if isinstance(value, dict):
        return 1 + sum(1 + parts(one) for one in value.values())
    return 1 + sum(map(parts, value)) if isinstance(value, list) else 1


@examples(300)
@given(value=VALUES, most=st.integers(1, 60), piece=st.integers(1, 50))
async def test_values_are_counted_for_any_strings_and_chunks(value, most, piece):
    body = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hot_routes, "_PIECE", piece)
        too_many = await hot_routes._too_many(body, most)
    # An empty container counts as if it held one value.
    assert too_many or parts(value) <= most
    assert not too_many or 2 * parts(value) > most


@every(
    ("many", "one"),
    [(b'{"a":{"a":0%b}}', b',"k":1'), (b'{"a":[0%b]}', b",0"), (b'{"a":[""%b]}', b',""'), (b'{"a":[[]%b]}', b",[]")],
    ids=["keys", "numbers", "texts", "lists"],
)
async def test_a_body_of_too_many_values_is_refused_with_the_limit(many, one):
    await bounded(many % (one * 9_000))
    with pytest.raises(TooLarge, match="20,000 values and keys"):
        await bounded(many % (one * 21_000))


async def test_megabytes_of_text_are_few_values():
    body = json.dumps({"tool_input": {"content": 'x = [1, {"a": 2}]\\\n' * 200_000}}).encode()
    assert await bounded(body) is body


@pytest.mark.parametrize("name", ["tool_response", "toolResponse"])
async def test_a_result_of_too_many_values_is_left_out_and_nothing_else(name):
    rows = [{"id": number} for number in range(30_000)]
    body = json.dumps({"tool_name": "q", name: rows, "tool_input": {"a": [1]}}).encode()
    assert json.loads(await bounded(body, result=True)) == {"tool_name": "q", name: None, "tool_input": {"a": [1]}}
    with pytest.raises(TooLarge):
        await bounded(body)
    with pytest.raises(TooLarge):
        await bounded(json.dumps({"tool_input": {"a": rows}, name: []}).encode(), result=True)


@examples(300)
@given(text=ODD, other=ODD, escaped=st.booleans(), piece=st.integers(20, 60))
async def test_a_large_body_is_decoded_in_steps_to_the_same(text, other, escaped, piece):
    payload = {"a": 1, "tool_input": {"content": text, "deep": [1, {"e": other}]}, "prompt": other}
    try:
        body = json.dumps(payload, ensure_ascii=escaped).encode()
    except UnicodeEncodeError:  # half a pair can only be escaped
        body = json.dumps(payload).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hot_routes, "_PIECE", piece)
        patch.setattr(hot_routes, "LARGE", 10)
        found = await decode_large(body)
    assert found == decode_object(body)
