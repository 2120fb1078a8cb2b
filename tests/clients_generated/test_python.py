"""The generated Python client against a live server: the main paths by hand, every other endpoint by its example."""

import importlib
import importlib.util
import inspect
import io
import json
import typing

import pytest

from tests.clients_generated.conftest import ROOT

pytestmark = pytest.mark.slow("generates a client and imports all of it")
TEXTS = {"client": "claude-code", "tier": "team", "scope": "session"}


def operations(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            tag = operation["tags"][0].replace("-", "_")
            yield path, operation, f"baton_client.api.{tag}.{operation['operationId']}"


def sample(name, hint):
    """Return a value for a parameter of a generated function."""
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)[0]
    if hint is int:
        return 1
    return TEXTS.get(name, "none-such")


def arguments(function, operation):
    """Return what a function needs, its body from the document's example."""
    hints = typing.get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "client" or parameter.default is not inspect.Parameter.empty:
            continue
        if name == "body":
            contents = operation["requestBody"]["content"]
            if "application/octet-stream" in contents:
                yield name, hints[name](io.BytesIO(b""))
                continue
            content = contents["application/json"]
            example = content["example"] if "example" in content else next(iter(content["examples"].values()))["value"]
            yield name, hints[name].from_dict(example)
        else:
            yield name, sample(name, hints[name])


def test_a_program_on_the_client_works_through_a_session(python_client, server):
    spec = importlib.util.spec_from_file_location("usage", ROOT / "clients/python/usage.py")
    usage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(usage)
    client = usage.AuthenticatedClient(base_url=server.url, token=server.token, raise_on_unexpected_status=True)
    with client:
        usage.walk(client, "usage-test")


def is_endless(operation):
    """Return whether an operation answers with a stream of events that no session or job ends."""
    contents = operation["responses"].get("200", {}).get("content", {})
    return "text/event-stream" in contents and all(one["in"] != "path" for one in operation["parameters"])


def test_every_operation_is_called_and_its_answer_read(python_client, server):
    from baton_client import Client  # noqa: PLC0415

    document = json.loads((python_client / "openapi.json").read_text())
    called = {}
    with Client(base_url=server.url, raise_on_unexpected_status=True) as client:
        for path, operation, module in operations(document):
            function = importlib.import_module(module).sync_detailed
            if is_endless(operation):  # it would end with its reader alone
                called[module] = 0
                continue
            answer = function(client=client, **dict(arguments(function, operation)))
            called[module] = answer.status_code
            assert answer.status_code < 500, (path, answer.content)
            if answer.status_code not in {204, 304}:
                assert answer.parsed is not None or "application/json" not in answer.headers["content-type"], path
    assert len(called) == sum(len(methods) for methods in document["paths"].values())
    assert sum(status < 300 for status in called.values()) >= len(called) // 3, called
