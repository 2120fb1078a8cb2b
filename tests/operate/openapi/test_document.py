"""The committed OpenAPI document and its examples."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from baton.kernel.base.settings import Settings
from baton.main import create_app
from baton.routers import ROUTERS
from tests.support.http_calls import introduce

OPENAPI = Path(__file__).parents[3] / "openapi"
EXAMPLES = sorted((OPENAPI / "examples").glob("*.json"))


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(create_app(Settings()).openapi()))


@pytest.mark.slow("make openapi does the same")
def test_the_committed_document_has_not_drifted(document):
    assert json.loads((OPENAPI / "openapi.json").read_text()) == document, "run `make openapi` and commit it"


def test_operation_ids_are_stable_names_and_unique(document):
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    assert all(name.replace("_", "").isalpha() for name in ids)


def test_no_two_models_share_a_name(document):
    """Both would get the names of their modules, also the one that clients knew by its own."""
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


def test_no_two_paths_differ_in_the_names_of_their_parameters_alone(document):
    shapes = [re.sub(r"{[^}]*}", "{}", path) for path in document["paths"]]
    assert len(shapes) == len(set(shapes)), "OpenAPI 3.1 forbids it, and generated clients confuse the two"


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def _body(document, part):
    if "$ref" in part:
        part = document["components"]["responses"][part["$ref"].rpartition("/")[2]]
    return part.get("content", {})


def test_each_operation_has_a_name_a_tag_and_a_summary(document):
    for name, operation in operations(document):
        assert operation["operationId"], name
        assert len(operation["tags"]) == 1, name
        assert operation["summary"], name
        assert operation["description"], name


def test_each_operation_says_what_may_go_wrong_in_the_one_shape(document):
    for name, operation in operations(document):
        failures = {status: part for status, part in operation["responses"].items() if status >= "400"}
        assert {"403", "405"} <= failures.keys(), name
        if not name.endswith(("/healthz", "/readyz", "/hooks/{client}")):
            assert {"401", "429", "500"} <= failures.keys(), name
        if "requestBody" in operation and not name.endswith("/hooks/{client}"):
            assert {"400", "413", "422"} <= failures.keys(), name
        for status, part in failures.items():
            problem = _body(document, part).get("application/problem+json")
            if problem is not None:
                assert problem["example"]["status"] == int(status)
            else:
                assert (name, status) == ("get /readyz", "503")


def test_each_body_has_an_example_that_its_schema_allows(document):
    seen = 0
    for name, operation in operations(document):
        for part in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media, content in _body(document, part).items():
                if "json" not in media:
                    continue
                examples = [one["value"] for one in content.get("examples", {}).values()] or [content["example"]]
                for example in examples:
                    schema = content.get("schema", {}) | {"components": document["components"]}
                    found = list(Draft202012Validator(schema).iter_errors(example))
                    assert not found, f"{name}: {found[0].message} in {example}"
                    seen += 1
    assert seen > 50


def _may_be_null(schemas, part, seen=()):
    name = part.get("$ref", "").rpartition("/")[2]
    if name:
        return name not in seen and _may_be_null(schemas, schemas[name], (*seen, name))
    below = [*part.get("anyOf", ()), *part.get("properties", {}).values(), *filter(None, [part.get("items")])]
    return part.get("type") == "null" or any(_may_be_null(schemas, one, seen) for one in below)


def test_no_answer_holds_a_null_since_absent_fields_are_left_out(document):
    holding, schemas = set(), document["components"]["schemas"]
    for route in (route for router in ROUTERS for route in router.routes):
        if not route.include_in_schema or route.response_model_exclude_none:
            continue
        operation = document["paths"][route.path_format][min(route.methods).lower()]
        answers = [_body(document, one) for status, one in operation["responses"].items() if status < "3"]
        if any(
            _may_be_null(schemas, one["application/json"]["schema"]) for one in answers if "application/json" in one
        ):
            holding.add(operation["operationId"])
    assert holding == set()


def test_the_document_is_served(http, document):
    assert http.get("/openapi.json").json() == document


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_is_answered_as_the_document_says(server, http, document, path):
    example = json.loads(path.read_text())
    introduce(server, projects=["github.com/acme/example"], users=["alice"])
    response = http.request(example["method"], example["path"], json=example["body"])
    assert response.status_code == 200, response.text
    schema = document["paths"][example["path"]][example["method"].lower()]["responses"]["200"]["content"]
    resolved = schema["application/json"]["schema"] | {"components": document["components"]}
    Draft202012Validator(resolved).validate(response.json())


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
