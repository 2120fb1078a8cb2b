"""Many paths are searched by kinds, up to a limit; the rest counts as being everywhere."""

import gc
import weakref

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.load import Layer, load
from baton.rules.policy.matching.context import MOST, Context

POLICIES = load([Layer(tier="shipped", files={"config.yaml": 'places: {infra: ["infra/**", "**/*.tf"]}'})])
CALL = ToolCall(client="codex", session_id="s", tool_name="Bash", tool_input={}, cwd="/w", project_root="/w")


def asked_of(monkeypatch):
    """Return a call's context, and the paths whose places are looked up."""
    context, asked, find = Context(POLICIES, Facts(call=CALL, level="off")), [], Context._find_places
    monkeypatch.setattr(Context, "_find_places", lambda *given: asked.append(given[1]) or find(*given))
    return context, asked


def test_paths_of_one_kind_are_looked_up_once(monkeypatch):
    context, asked = asked_of(monkeypatch)
    assert {context.places(f"page{n}") for n in range(5_000)} == {frozenset({"work"})}
    assert len(asked) == 1


def test_a_path_of_another_kind_is_found_among_them(monkeypatch):
    context, _ = asked_of(monkeypatch)
    found = [context.places(path, "", "tree") for path in [*(f"page{n}" for n in range(5_000)), "main.tf", "/"]]
    assert "infra" in found[-2]
    assert "root" in found[-1]


def test_kinds_beyond_the_limit_are_everywhere(monkeypatch):
    context, asked = asked_of(monkeypatch)
    found = [context.places(f"$x{n}/a") for n in range(MOST + 1)]
    assert found[0] != found[-1] == POLICIES.locator.everywhere
    assert context.places("$x0/a") == found[0]
    assert len(asked) == MOST


def test_a_context_belongs_to_its_call():
    """In a cycle it would wait for the garbage collector, and thousands of them would stop the server for 150 ms."""
    context = Context(POLICIES, Facts(call=CALL, level="off"))
    context.places("main.tf")
    gone = weakref.ref(context)
    gc.disable()
    try:
        del context
        assert gone() is None
    finally:
        gc.enable()
