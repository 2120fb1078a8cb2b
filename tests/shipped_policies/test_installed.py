"""The attack list `tests/attacks/installed.yaml`, as the shipped policies judge it."""

import json

import pytest

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from tests.support.attacks import entries
from tests.support.installation import INSTALLED

ROWS = entries("installed")
HOME = "/home/ann/shop"


def verdict(policies, row, **facts):
    row = json.loads(json.dumps(row).replace("{port}", "8080"))
    tool, given = ("Bash", {"command": row["line"]}) if "line" in row else (row["tool"], row["input"])
    call = ToolCall(
        client="claude-code",
        session_id="s",
        tool_name=tool,
        tool_input=given,
        cwd=row.get("cwd", HOME),
        project="acme/shop",
        project_root=HOME,
    )
    return evaluate(policies, Facts(call=call, **({"installed": INSTALLED} | facts)))


def stopped(policies, row, **facts):
    return verdict(policies, row, **facts).effect in ("deny", "ask")


@pytest.mark.matrix(3)
@pytest.mark.parametrize("kind", sorted({row["class"] for row in ROWS}))
@pytest.mark.parametrize("level", ["off", "strict"])
def test_the_attack_list(shipped, kind, level):
    rows = [row for row in ROWS if row["class"] == kind]
    # In strict mode the orchestrator's own rules refuse much that is harmless.
    wanted = [row for row in rows if level == "off" or row["want"] == "stopped"]
    assert [row for row in wanted if stopped(shipped, row, level=level) is not (row["want"] == "stopped")] == []


def test_only_what_the_machine_says_makes_its_own_places_known(shipped):
    """Without `installed` these are ordinary paths, so the list shows what it adds."""
    rows = [row for row in ROWS if row["class"] == "installed/elsewhere"]
    assert sum(stopped(shipped, row, installed="") for row in rows) < len(rows) / 2


def test_who_works_on_the_checkout_that_the_server_runs_from_may_edit_it(shipped):
    def edit(root):
        return {"tool": "Edit", "input": {"file_path": "/home/ann/shop/app/baton/main.py"}, "root": root}

    assert stopped(shipped, edit(HOME), installed="hook_settings\t/home/ann/shop/app/baton\t/home/ann/elsewhere")
    assert not stopped(shipped, edit(HOME), installed="hook_settings\t/home/ann/shop/app/baton\t/home/ann/shop")


@pytest.mark.parametrize("wide", ["/", "/home", "/home/ann", "~", "/usr", "relative", ""])
def test_a_machine_that_names_everything_as_its_own_protects_nothing_more(shipped, wide):
    row = {"line": "echo x > /home/ann/shop/a.py && rm -f /usr/x/y"}
    assert not stopped(shipped, row, installed=f"hook_settings\t{wide}\nbaton_home\t{wide}")
