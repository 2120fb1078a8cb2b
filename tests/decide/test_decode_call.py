"""The fast reader of payloads returns the same as the thorough one, calls and errors alike."""

import json

from baton.decide.api import decode_call, read_call
from baton.kernel.base.errors import BatonError
from baton.kernel.http.serving.hot_routes import decode_object
from baton.rules.call.call import Principal
from baton.shared.caller import Caller
from tests.support.cases import every

CALLER = Caller(principal=Principal(organisation="o", team="t", user="u", role="admin"), project="p", root="/r")
BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


def outcome(read):
    try:
        return read()
    except BatonError as error:
        return error.problem()


@every(
    "payload",
    [
        BASH,
        BASH | {"session_id": "s", "cwd": "/w", "agent_id": "a", "unknown": [1]},
        BASH | {"project": "mine", "client": "codex"},
        BASH | {"project": "", "client": ""},
        BASH | {"session_id": None, "client": None},
        BASH | {"sessionId": "s", "directory": "/w", "toolUseId": "t", "agentType": "x"},
        BASH | {"session_id": None, "sessionId": "s"},
        BASH | {"session_id": "a", "sessionId": "b"},
        BASH | {"sessionId": ""},
        BASH | {"tool_input": None},
        BASH | {"tool_input": []},
        BASH | {"tool_name": " "},
        BASH | {"toolName": 3},
        BASH | {"session_id": 3},
        BASH | {"agentId": 3},
        BASH | {"cwd": "x" * 4_096},
        BASH | {"cwd": "x" * 4_097},
        BASH | {"tool_input": {"command": "\ud800"}},
        {"toolName": "Bash", "toolInput": {"command": "ls"}},
        {"tool_name": "Bash"},
        {"tool_input": {}},
        [],
    ],
)
def test_both_ways_read_the_same(payload):
    body = json.dumps(payload).encode()
    assert outcome(lambda: decode_call(body, CALLER)) == outcome(lambda: read_call(decode_object(body), CALLER))


@every("body", [b"", b"{", b"\xff", b"[" * 5_000, b"\xef\xbb\xbf" + json.dumps(BASH).encode()])
def test_both_ways_refuse_the_same_bodies(body):
    assert outcome(lambda: decode_call(body, CALLER)) == outcome(lambda: read_call(decode_object(body), CALLER))
