from baton.shared.storable import storable, storable_json
from tests.support.cases import every


@every(("given", "kept"), [("plain", "plain"), ("a\0b", "a\ufffdb"), ("é\ud800", "é?"), ("", "")])
def test_texts_are_made_storable(given, kept):
    assert storable(given) == kept


def test_every_text_of_a_json_value_is_made_storable():
    given = {"a\0": ["b\0", {"c": "\ud800"}], "n": 1, "t": True, "z": None}
    assert storable_json(given) == {"a\ufffd": ["b\ufffd", {"c": "?"}], "n": 1, "t": True, "z": None}
