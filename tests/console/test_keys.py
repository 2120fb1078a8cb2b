"""The keyboard: help, the palette, rows, the mode in force; never while somebody types."""

import pytest

from tests.console.axe import assert_accessible
from tests.console.conftest import PHONE
from tests.console.test_console import call

pytestmark = pytest.mark.slow("starts a browser")


def focused(page):
    return page.evaluate("() => document.activeElement.closest('[data-decision]')?.dataset.decision ?? ''")


def test_help_lists_the_keys_of_the_screen_and_those_of_everywhere(signed_in):
    signed_in.keyboard.press("?")
    dialog = signed_in.get_by_role("dialog", name="Keys")
    dialog.get_by_role("table", name="Keys: Everywhere").wait_for()
    assert "Go to a screen" in dialog.inner_text()
    assert "Pause" in dialog.get_by_role("table", name="Keys: Now").inner_text()
    assert_accessible(signed_in)
    signed_in.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


@pytest.mark.parametrize(
    ("typed", "address"),
    [("decis", "/ui/decisions"), ("guardrails/remove-root", "/ui/decisions?rule=guardrails%2Fremove-root")],
)
def test_the_palette_goes_to_a_screen_and_to_a_rule(signed_in, typed, address):
    signed_in.keyboard.press("Control+k")
    signed_in.get_by_role("textbox", name="Go to").fill(typed)
    signed_in.get_by_role("option", name=typed).first.wait_for()
    assert_accessible(signed_in)
    signed_in.keyboard.press("Enter")
    signed_in.get_by_role("heading", name="Decisions").wait_for()
    assert signed_in.url.endswith(address)


def test_j_and_k_move_enter_opens_and_escape_closes(world, signed_in):
    server, _ = world
    for number in range(3):
        call(server, f"git log -{number + 1} # rows")
    signed_in.locator("[data-decision]", has_text="git log -3").wait_for()
    signed_in.keyboard.press("j")
    first = focused(signed_in)
    assert first
    signed_in.keyboard.press("j")
    assert focused(signed_in) not in {first, ""}
    signed_in.keyboard.press("k")
    assert focused(signed_in) == first
    signed_in.keyboard.press("Enter")
    drawer = signed_in.get_by_role("dialog")
    drawer.wait_for()
    signed_in.keyboard.press("Escape")
    drawer.wait_for(state="hidden")
    assert focused(signed_in) == first


def test_keys_rest_in_fields_and_behind_dialogs(signed_in):
    signed_in.goto("/ui/decisions")
    signed_in.get_by_role("combobox", name="User").fill("")
    signed_in.get_by_role("combobox", name="User").press_sequentially("gn?.j")
    assert signed_in.get_by_role("combobox", name="User").input_value() == "gn?.j"
    assert signed_in.get_by_role("dialog").count() == 0
    signed_in.goto("/ui/")
    signed_in.get_by_role("button", name="Pause").wait_for()
    signed_in.keyboard.press("?")
    signed_in.get_by_role("dialog", name="Keys").wait_for()
    signed_in.get_by_role("dialog").get_by_role("heading", name="Keys").click()
    signed_in.keyboard.press("Space")
    signed_in.keyboard.press("Escape")
    signed_in.get_by_role("button", name="Pause").wait_for()
    signed_in.locator("main").focus()
    signed_in.keyboard.press("Space")
    signed_in.get_by_role("button", name="Go on").wait_for()


def test_the_header_shows_the_mode_in_force_and_changes_it(world, signed_in):
    server, _ = world
    signed_in.get_by_role("button", name="Mode: off").wait_for()
    signed_in.keyboard.press(".")
    signed_in.get_by_role("menuitem", name="Strict").wait_for()
    assert_accessible(signed_in)
    signed_in.get_by_role("menuitem", name="Strict").click()
    signed_in.get_by_role("button", name="Mode: strict").wait_for()
    with server.client() as admin:
        assert admin.get("/mode").json()["chain"][-1]["scope"] == "user"
    signed_in.get_by_role("menuitem", name="Remove my setting").click()
    signed_in.get_by_role("button", name="Mode: off").wait_for()
    signed_in.keyboard.press("Escape")
    signed_in.get_by_role("menu").wait_for(state="hidden")


def test_the_header_fits_on_a_phone(signed_in):
    signed_in.set_viewport_size(PHONE)
    signed_in.get_by_role("button", name="Go to").click()
    signed_in.get_by_role("textbox", name="Go to").wait_for()
    assert signed_in.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    box = signed_in.get_by_role("banner").get_by_role("button", name="Sign out").bounding_box()
    assert box["x"] + box["width"] <= PHONE["width"]
