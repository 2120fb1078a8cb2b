"""Code and recent work in a prompt, as the real Claude Code passes them to its model, with measured use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Server, Stage, made
from tests.e2e.model_endpoint import Use

pytestmark = pytest.mark.e2e
ON = {"ENABLE_LOCAL_INFERENCE_PIPELINE": "yes", "ENABLE_LOCAL_ENRICHMENT": "on"}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A project with a code map, on a server that enriches prompts."""
    server = Server(tmp_path / "server", settings=ON)
    server.start()
    stage = made(server, tmp_path)
    (stage.project / "src").mkdir()
    (stage.project / "src" / "shopping.py").write_text("class CartTotals:\n    def add_item(self):\n        return 1\n")
    stage.install("claude-code")
    stage.baton("codemap", "push", url=server.url)
    yield stage
    server.stop()


def test_the_model_gets_the_code_s_place(stage: Stage) -> None:
    path = str(stage.project / "src" / "shopping.py")
    edit = Use("Edit", {"file_path": path, "old_string": "return 1", "new_string": "return 2"})
    played = stage.claude(
        {"main": [Use("Read", {"file_path": path}), edit, "bye"]}, "[[main]] why is CartTotals wrong?"
    )
    told = played.told()
    assert "## Code" in told
    assert "`src/shopping.py`: class `CartTotals` (line 1)" in told

    again = stage.claude({"main": ["bye"]}, "[[main]] what should be done about discounts now?")
    assert "## Recent Work" in again.told()
    assert "shopping.py" in again.told()
