"""Bodies with halves of characters: FastAPI's routes get whole ones, and everything else as it came."""

import json

import pytest

from app.api.json_io import whole_characters


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb'"a \ud83d b"', "a \ufffd b"),
        (rb'"\uDC00\uD83D"', "\ufffd\ufffd"),
        (rb'"\ud83d\ude00 \u00e9"', "\U0001f600 é"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\\ud83d \\\ud83d"', "\\ud83d \\\ufffd"),
        (b'"plain"', "plain"),
    ],
)
def test_halves_of_characters_become_the_sign_for_an_unknown_one(body, text):
    assert json.loads(whole_characters(body)) == text
