"""`make screenshots`: the console's pictures for the README, of a server with the demonstration, written to docs/images."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.console.conftest import CHROMIUM, FLAGS, PHONE, WIDE
from tests.support.server import serving

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LARGEST = 200_000
"""Bytes of one picture, so that the README stays quick to load."""
SCREENS = {
    "desktop": {"now": "/", "decisions": "/decisions?effect=deny", "policies": "/policies"},
    "phone": {"sessions": "/sessions"},
}
"""Pictures by the device, their names, and the screen that each shows, below `/ui`."""
BATON = [sys.executable, "-m", "baton"]


def main() -> None:
    """Take every picture, light and dark."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("BATON_TEST_RUN_FOLDER", folder)
        with serving(Path(folder) / "home") as server, server.client() as admin, sync_playwright() as driver:
            env = server.env | {"BATON_URL": server.url, "BATON_TOKEN": server.token, "HOME": folder}
            subprocess.run([*BATON, "demo"], env=env, check=True, cwd=folder)
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            console = f"http://baton.localhost:{server.url.rpartition(':')[2]}"
            for scheme in ("light", "dark"):
                for device, viewport in (("desktop", WIDE), ("phone", PHONE)):
                    context = browser.new_context(viewport=viewport, base_url=console, color_scheme=scheme)
                    page = context.new_page()
                    page.goto(admin.post("/session/links").json()["path"])
                    page.get_by_role("button", name="Sign out").wait_for()
                    take(page, SCREENS[device], f"{device}-{scheme}")
                    context.close()
            browser.close()


def take(page: Page, screens: dict[str, str], kind: str) -> None:
    """Write the picture of each of these screens, and fail on one that is too large."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, path in screens.items():
        page.goto(f"/ui{path}")
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(1_500)  # the screens follow a stream, so the network is never idle
        target = IMAGES / f"{name}-{kind}.png"
        page.screenshot(path=target, animations="disabled")
        if (size := target.stat().st_size) > LARGEST:
            raise SystemExit(f"{target} has {size:,} bytes; at most {LARGEST:,} are wanted")


if __name__ == "__main__":
    main()
