"""A call decided while Redis is unavailable: the session's past is unknown, not empty."""

from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest

from baton.decide import service
from baton.decide.service import PreToolUse
from baton.kernel.base.settings import Settings
from baton.kernel.redis.client import RedisUnavailable
from baton.main import _build, _kernel, create_app
from baton.rules.call.call import Principal, ToolCall
from baton.shared.caller import Caller

ANN = Caller(principal=Principal(user="ann"))


@pytest.fixture
async def decide(tmp_path, valkey_url, sqlite_url, redis, monkeypatch):
    """Decide a call of a session; returns what the rules were told, and the decision. `away` takes Redis away."""
    async with AsyncExitStack() as stack:
        settings = Settings(home=tmp_path / "home", database_url=sqlite_url, redis_timeout_ms=5_000)
        app = create_app(settings, redis_url=valkey_url)
        kernel = await _kernel(settings, valkey_url, stack, app.peers)
        await _build(kernel, app, is_worker=True)
        pre_tool_use = app.state.features.get(PreToolUse)
        evaluate = service.evaluate
        told = []
        monkeypatch.setattr(
            service, "evaluate", lambda policies, facts, *more: told.append(facts) or evaluate(policies, facts, *more)
        )

        async def unavailable(*_arguments, **_options):
            raise RedisUnavailable("away")

        async def one(*, away, session_id="s"):
            with monkeypatch.context() as patch:
                if away:
                    patch.setattr(pre_tool_use._history, "begin", unavailable)
                call = ToolCall(client="codex", session_id=session_id, tool_name="Read", tool_input={"file_path": "a"})
                decision = await pre_tool_use.decide(ANN, call)
            return SimpleNamespace(facts=told[-1], decision=decision)

        yield one


async def test_without_redis_the_history_is_unknown_and_reported(decide):
    found = await decide(away=True)
    assert (found.facts.history, found.facts.background_running, found.facts.other_editor) == (None, None, None)
    assert found.decision.degraded == ("history",)


async def test_a_first_call_and_one_without_a_session_have_a_past_that_is_empty(decide):
    for session_id in ("s", ""):
        found = await decide(away=False, session_id=session_id)
        assert (found.facts.history, found.facts.background_running, found.facts.other_editor) == ((), 0, "")
        assert found.decision.degraded == ()
