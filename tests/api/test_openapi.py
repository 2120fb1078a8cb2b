"""The committed OpenAPI document and its examples."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from app.main import create_app
from app.settings import Settings

OPENAPI = Path(__file__).parents[2] / "openapi"
EXAMPLES = sorted((OPENAPI / "examples").glob("*.json"))


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(create_app(Settings()).openapi()))


def test_the_committed_document_has_not_drifted(document):
    assert json.loads((OPENAPI / "openapi.json").read_text()) == document, "run `make openapi` and commit it"


def test_operation_ids_are_stable_names_and_unique(document):
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    assert all(name.replace("_", "").isalpha() for name in ids)


def test_the_document_is_served(http, document):
    assert http.get("/openapi.json").json() == document


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_is_answered_as_the_document_says(http, document, path):
    example = json.loads(path.read_text())
    response = http.request(example["method"], example["path"], json=example["body"])
    assert response.status_code == 200, response.text
    schema = document["paths"][example["path"]][example["method"].lower()]["responses"]["200"]["content"]
    resolved = schema["application/json"]["schema"] | {"components": document["components"]}
    Draft202012Validator(resolved).validate(response.json())


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
