"""The preview of a prompt: masked, then cut; no secret's half escapes, wherever the cut falls."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.bash.tables.tables import build
from baton.lib.text import masking
from baton.lib.text.masking import mask
from baton.sessions.session_events import preview
from tests.support.cases import every, listed
from tests.support.fake_secrets import fakes

FAKES = fakes()
TABLES = Path(__file__).parents[2] / "policies" / "shell"


@pytest.fixture(autouse=True, scope="module")
def _programs():
    masking.learn(build({path.name: path.read_text("utf-8") for path in TABLES.glob("*.yaml")}).secrets)
    yield
    masking.learn({})


@every(
    ("prompt", "shown"),
    [
        ("", ""),
        ("fix the parser", "fix the parser"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 97 + "..."),
        ("é" * 300, "é" * 97 + "..."),
        ("\ud800 half", "? half"),
    ],
)
def test_a_preview_is_at_most_a_hundred_characters(prompt, shown):
    assert preview(prompt) == shown


def leaks(shown, fake):
    """Return whether a preview shows six characters in a row of a secret's random part, or could still be masked."""
    parts = {fake.body[at : at + 6] for at in range(len(fake.body) - 5)}
    return any(part in shown for part in parts) or mask(shown) != shown or len(shown) > 100


@pytest.mark.parametrize(
    "paddings",
    [(0, 66, 79, 92, 100), pytest.param(range(60, 101), marks=pytest.mark.slow("cuts each secret at each place"))],
    ids=["some", "all"],
)
def test_no_secret_is_shown_wherever_the_cut_falls(paddings):
    found = {}
    for fake in FAKES:
        for padding in paddings:
            for text in ("word " * 30)[:padding], "x" * padding:
                shown = preview(text + "\n" + fake.text + " and then some more of it" * 3)
                if leaks(shown, fake):
                    found[f"{fake.kind} {fake.name} after {padding}"] = shown
    assert not found, listed(found, "the preview must be masked before it is cut")


@pytest.mark.slow("masks many texts")
@given(st.text(max_size=150), st.sampled_from(FAKES), st.text(max_size=150))
def test_no_secret_is_shown_in_any_text(before, fake, after):
    shown = preview(f"{before} {fake.text} {after}")
    assert len(shown) <= 100
    assert not any(fake.body[at : at + 6] in shown for at in range(len(fake.body) - 5))
