"""`baton roster` as a person runs it, against a real server."""

import json

import pytest

from tests.support.command_line import clean_environment, run

REVIEWER = "---\nname: reviewer\ndescription: Reviews code: faults, style.\n---\nBe kind.\n"
DEBUGGER = "agent_identity: {name: agent-debug, description: Finds causes.}\nactivation_patterns: {explicit_triggers: [debug]}\n"


@pytest.fixture
def baton(server, tmp_path):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url)
    return lambda *words: run("roster", *words, env=env, cwd=tmp_path)


def test_a_folder_is_pushed_listed_shown_and_removed(baton, tmp_path):
    folder = tmp_path / "shop" / ".claude" / "agents"
    (folder / "deep").mkdir(parents=True)
    (folder / "reviewer.md").write_text("\ufeff" + REVIEWER.replace("\n", "\r\n"), encoding="utf-8", newline="")
    (folder / "deep" / "debug.yaml").write_text(DEBUGGER)
    (folder / "README.md").write_text("no agent")

    pushed = baton("push", str(folder), "--reason", "first")
    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stderr == "baton roster: left out `README.md`: it has no front matter\n"
    assert "Roster shop of team default: version 1 with 2 agents" in pushed.stdout
    assert baton("list").stdout.splitlines()[1].startswith("shop ")
    assert "agent-debug" in baton("show", "shop").stdout
    shown = baton("show", "shop", "reviewer").stdout
    assert "Reviews code: faults, style." in shown
    assert "Be kind." in shown
    assert json.loads(baton("show", "shop", "agent-debug", "--json").stdout)["triggers"] == ["debug"]
    again = json.loads(baton("push", str(folder), "--name", "other", "--tier", "organisation", "--json").stdout)
    assert (again["tier"], again["agents"]) == ("organisation", 2)
    assert baton("remove", "shop").returncode == 0
    assert baton("remove", "other", "--tier", "organisation").returncode == 0
    assert baton("show", "shop").returncode == 1


def test_a_folder_without_agents_is_an_error(baton, tmp_path):
    assert baton("push", str(tmp_path / "nowhere")).returncode == 2
    (tmp_path / "empty").mkdir()
    refused = baton("push", str(tmp_path / "empty"))
    assert (refused.returncode, "holds no agents' files" in refused.stderr) == (1, True)
    (tmp_path / "empty" / "a.md").write_text("no front matter")
    refused = baton("push", str(tmp_path / "empty"))
    assert (refused.returncode, "front matter" in refused.stderr) == (1, True)
