"""The places reported by a machine as its own are guarded, and no more than these."""

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from tests.lines.corpus import STOPS, rows
from tests.support.cases import every

HOME = "/home/ann/shop"


def stopped(policies, tool, given, installed):
    call = ToolCall(client="claude-code", session_id="s", tool_name=tool, tool_input=given, cwd=HOME, project_root=HOME)
    return evaluate(policies, Facts(call=call, installed=installed)).effect in STOPS


def test_reported_places_are_ordinary_paths_without_the_report(shipped):
    elsewhere = [row for row in rows("installed") if row.section == "elsewhere"]
    assert sum(stopped(shipped, *row.tool, installed="") for row in elsewhere) < len(elsewhere) / 2


def test_who_works_on_the_checkout_that_the_server_runs_from_may_edit_it(shipped):
    edit = ("Edit", {"file_path": "/home/ann/shop/app/baton/main.py"})
    assert stopped(shipped, *edit, installed="hook_settings\t/home/ann/shop/app/baton\t/home/ann/elsewhere")
    assert not stopped(shipped, *edit, installed="hook_settings\t/home/ann/shop/app/baton\t/home/ann/shop")


@every("wide", ["/", "/home", "/home/ann", "~", "/usr", "relative", ""])
def test_a_machine_that_names_everything_as_its_own_protects_nothing_more(shipped, wide):
    line = {"command": "echo x > /home/ann/shop/a.py && rm -f /usr/x/y"}
    assert not stopped(shipped, "Bash", line, installed=f"hook_settings\t{wide}\nbaton_home\t{wide}")
