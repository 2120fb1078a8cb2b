import importlib.util
from pathlib import Path

import pytest

from tests.support.cases import every

spec = importlib.util.spec_from_file_location("prose", Path(__file__).parents[2] / ".ci" / "prose.py")
prose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prose)


@every(
    ("text", "figures"),
    [
        ("one two three which", (25, 0, 0)),
        ("One which has what it needs. One more short sentence.", (20, 50, 0)),
        ("the server tells the agent", (0, 0, 200)),
        ("one two [three](which-what.md) four", (0, 0, 0)),
        ("one two `which what` three ```\nwho\n``` <b id=which>", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_words_are_counted_outside_of_code_and_links(text, figures):
    assert prose.figures([text]) == figures


@pytest.mark.parametrize(("found", "exceeds"), [(2.0, False), (2.04, False), (2.1, True)])
def test_a_figure_exceeds_only_above_the_goal(found, exceeds):
    assert bool(prose.excess("docs", (found, 0.0, 0.0))) is exceeds


@pytest.mark.slow("reads every text; make lint does the same")
def test_every_group_has_texts():
    assert all(prose.groups().values())
