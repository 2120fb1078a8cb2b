"""The maximum size of an uploaded layer, and the number of listed problems."""

import json

import pytest

from baton.lib.text.yaml_lines import Fault
from baton.rules.policy.load import Layer, PolicyProblems, extend, load
from baton.rules.policy.rules.files import MOST_PROBLEMS, shown

RULE = """id: x/y
description: d
decision: deny
reason: no
match: {shell: {program: zz}}
tests:
  match:
%s  not_match: [ls]
"""


def problems(files):
    with pytest.raises(PolicyProblems) as refused:
        extend(load([]), [Layer(tier="team", name="web", files=files, origin="upload")])
    return refused.value.problems


def test_a_layer_of_too_many_values_is_refused_by_one_problem_and_not_by_one_for_each():
    names = "rules:\n" + "".join(f"  a/b{number}: 'off'\n" for number in range(20_000))
    (problem,) = problems({"config.yaml": names})
    assert "more than 10000 values" in problem.text


def test_a_layer_of_too_many_tests_is_refused():
    found = problems({"x/y.yaml": RULE % ("  - zz\n" * 1_001)})
    assert any("1002 tests; at most 1000" in one.text for one in found)


def test_a_problem_quotes_no_megabyte():
    found = problems({"x/y.yaml": RULE % f"  - ls {'x' * 50_000}\n"})
    assert max(len(one.text) for one in found) < 2_000


def test_a_shortened_list_names_the_rest():
    found = shown([Fault("a.yaml", number, "wrong") for number in range(60_000)])
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1].text == "and 59900 more problems, not listed here"
    assert shown(found[:3]) == found[:3]


def test_an_answer_lists_a_hundred_problems_of_an_upload(http):
    names = "rules:\n" + "".join(f"  a/b{number}: 'off'\n" for number in range(3_000))
    problem = http.post("/policies/validate", json={"tier": "organisation", "files": {"config.yaml": names}}).json()
    assert len(problem["errors"]) == 100
    assert problem["detail"].startswith("3000 problems")
    assert "2900 more are not listed" in problem["detail"]


def test_an_answer_lists_a_hundred_wrong_fields_of_a_body(http):
    body = json.dumps({"agents": [{"name": 1} for _ in range(500)]})
    response = http.put("/rosters/wrong", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert len(response.json()["errors"]) == 100
    assert "400 more are not listed" in response.json()["detail"]
