"""Bodies with NULs and lone surrogates: FastAPI's routes get neither, and everything else unchanged."""

import json

from baton.kernel.http.serving.hot_routes import decode_object, encode, whole_characters
from tests.support.cases import every


@every(
    ("body", "text"),
    [
        (rb'"a \ud83d b"', "a \ufffd b"),
        (rb'"\uDC00\uD83D"', "\ufffd\ufffd"),
        (rb'"\ud83d\ude00 \u00e9"', "\U0001f600 é"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\\ud83d \\\ud83d"', "\\ud83d \\\ufffd"),
        (rb'"a\u0000b \\u0000"', "a\ufffdb \\u0000"),
        (b'"plain"', "plain"),
    ],
)
def test_characters_that_no_store_accepts_are_replaced(body, text):
    assert json.loads(whole_characters(body)) == text


@every(
    "body",
    [
        rb'{"n":1e999}',
        rb'{"n":-1E+999,"deep":[{"n":1.5e400}]}',
        rb'{"n":1e99999999999999999999999}',
        rb'{"n":1e999,"deep":["\ud83d",true,null,0.5,{"a":"b"}]}',
    ],
)
def test_a_number_beyond_float_is_returned_unchanged(body):
    assert encode(decode_object(body)) == body
