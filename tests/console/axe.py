"""Checks a page's accessibility with axe-core from `web/node_modules`.

`make web` installs axe-core, and `.ci/run` runs `make web` before the tests. Without it the test is skipped.
"""

from functools import cache
from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
GRAVE = {"serious", "critical"}
SCHEMES = ("light", "dark")
AT_REST = """() => document.getAnimations().every(
  (one) => one.playState !== "running" || one.effect.getComputedTiming().iterations === Infinity
)"""


@cache
def _source():
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make web")
    return AXE.read_text(encoding="utf-8")


def grave_findings(page):
    """Return the serious and critical findings on a page as it is now, one readable text each."""
    # `evaluate` goes through the debugger, so the page's policy against foreign scripts does not concern it.
    page.evaluate(f"{_source()}; undefined")
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']} {one['id']}: {one['help']}\n  {node['html'][:300]}\n  {' '.join(node['failureSummary'].split())}"
        for one in found["violations"]
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def assert_accessible(page):
    """Fail on serious and critical findings of axe-core on a page, in light and in dark colours.

    The page is checked as it is now: wait for its content first. What is open, such as a drawer, stays open.
    """
    for scheme in SCHEMES:
        page.evaluate("(one) => document.documentElement.setAttribute('data-mantine-color-scheme', one)", scheme)
        _wait_for_animations(page)
        found = grave_findings(page)
        assert not found, f"{page.url}, {scheme}:\n" + "\n".join(found)


def _wait_for_animations(page):
    """Wait until nothing but endless spinners moves: half-faded text has less contrast than it will have."""
    for _ in range(100):
        if page.evaluate(AT_REST):
            return
        page.wait_for_timeout(50)
