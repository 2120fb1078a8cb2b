"""Every timestamp in a request, at the ends of the calendar."""

import json
from pathlib import Path

import pytest

from tests.support.cases import every

OPENAPI = json.loads((Path(__file__).parents[3] / "openapi/openapi.json").read_text())
WITHOUT_A_DATE_IN_UTC = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
FIRST_AND_LAST = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]


def is_moment(schema):
    return any(one.get("format") == "date-time" for one in (schema, *schema.get("anyOf", ())))


PARAMETERS = [
    (path.replace("{pack}", "secrets"), parameter["name"])
    for path, operations in OPENAPI["paths"].items()
    for parameter in operations.get("get", {}).get("parameters", ())
    if is_moment(parameter["schema"])
]
BODIES = [
    ("PUT", "/mode", {"scope": "session", "id": "s1", "enabled": True}, "expires_at"),
    ("POST", "/tokens", {"user": "moment", "role": "developer"}, "expires_at"),
    ("POST", "/policies/replay", {"files": {}}, "since"),
    ("POST", "/policies/replay", {"files": {}}, "until"),
]


def test_the_lists_of_decisions_and_jobs_are_tested():
    assert {("/decisions", "since"), ("/jobs", "until"), ("/audit", "since")} <= set(PARAMETERS)


@every("moment", WITHOUT_A_DATE_IN_UTC)
@every(("path", "name"), PARAMETERS)
def test_a_parameter_without_a_date_in_utc_is_named(http, path, name, moment):
    problem = http.get(path, params={name: moment})
    assert problem.status_code == 422, problem.text
    assert problem.json()["errors"][0]["field"] == name
    assert "years 1 to 9999" in problem.json()["detail"]


@pytest.mark.matrix(4)
@pytest.mark.parametrize("moment", FIRST_AND_LAST)
@pytest.mark.parametrize(("path", "name"), PARAMETERS)
def test_the_first_and_last_timestamps_are_accepted(http, path, name, moment):
    answer = http.get(path, params={name: moment})
    assert answer.status_code in {200, 422}, answer.text  # 422: the period is empty, or too long


@every("moment", WITHOUT_A_DATE_IN_UTC)
@every(("method", "path", "body", "field"), BODIES)
def test_a_field_without_a_date_in_utc_is_named(http, method, path, body, field, moment):
    problem = http.request(method, path, json=body | {field: moment})
    assert problem.status_code == 422, problem.text
    assert problem.json()["errors"][0]["field"] == field
