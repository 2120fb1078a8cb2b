"""Each screen of the console under axe-core, in light and dark, on a desktop and on a phone."""

import pytest

from tests.console.axe import assert_accessible, grave_findings
from tests.console.conftest import PHONE, WIDE
from tests.console.test_console import call

pytestmark = pytest.mark.slow("starts a browser")
SCREENS = ("/ui/", "/ui/decisions", "/ui/decisions?effect=deny", "/ui/sign-in")


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["desktop", "phone"])
def test_no_screen_has_a_serious_finding(world, signed_in, viewport):
    server, _ = world
    call(server, "git status # accessible")
    call(server, "sudo rm -rf / # accessible")
    signed_in.set_viewport_size(viewport)
    for path in SCREENS:
        signed_in.goto(path)
        signed_in.get_by_role("heading", level=1).wait_for()
        if "sign-in" not in path:
            signed_in.locator("[data-decision]").first.wait_for()
        assert_accessible(signed_in)


def test_an_open_decision_has_no_serious_finding(world, signed_in):
    server, _ = world
    call(server, "sudo rm -rf / # opened")
    signed_in.locator("[data-decision]", has_text="opened").click()
    signed_in.get_by_role("dialog").get_by_text("guardrails/remove-root").first.wait_for()
    assert_accessible(signed_in)


def test_a_picture_without_a_text_is_a_serious_finding(signed_in):
    signed_in.evaluate("() => document.querySelector('main').append(document.createElement('img'))")
    assert any("image-alt" in one for one in grave_findings(signed_in))
