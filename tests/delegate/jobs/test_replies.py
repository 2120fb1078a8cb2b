"""Replies: they continue the newest job of a thread, on its runner, and name their subject."""

import pytest

from baton.delegate.core.job import JobArguments
from baton.delegate.jobs.replies import DiffComment, worded
from baton.delegate.runners.progress import RunnerEvent
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, NotFound
from tests.support.cases import every
from tests.support.delegating import ADA, BOB, LEAD, Runner, claim

DIFF = """\
diff --git a/cart.py b/cart.py
index 1..2 100644
--- a/cart.py
+++ b/cart.py
@@ -1,3 +1,4 @@ class X
 import a
-b = 1
+b = 2
+++ odd
 c
@@ -40,2 +41,2 @@
 forty
-z
+y
diff --git a/new file.py b/new file.py
new file mode 100644
--- /dev/null
+++ b/new file.py
@@ -0,0 +1 @@
+x
"""


async def worked(runner, lease, session="thread-1", state="completed", **more):
    """Let an agent begin its session, change a file, and end."""
    files = [{"path": "cart.py", "change": "modified", "added": 1, "deleted": 1, "mode": "100644"}]
    bodies = {"agent.session": {"id": session}, "workspace.diff": {"diff": DIFF, "files": files}}
    events = [RunnerEvent(seq=seq, type=kind, body=body) for seq, (kind, body) in enumerate(bodies.items(), 1)]
    await runner.world.progress.record(runner.who, runner.name, claim(lease), events)
    await runner.tell(lease, first=3, finish=state, output="I did it", **more)


async def reply(world, job, message="go on", comments=(), who=ADA, **arguments):
    return await world.replies.submit(who, job.id, message, tuple(comments), JobArguments(**arguments))


async def test_a_reply_continues_the_thread_on_its_runner(world):
    runner = Runner(world)
    fields = {"provider": "claude_code", "workspace": "shop", "isolation": "worktree", "model": "haiku"}
    job = await world.delegate(**fields, agent_type="explore", system_prompt="be brief", thinking_budget=7)
    await worked(runner, await runner.lease())
    new = await reply(world, job, "and a test\nplease", timeout_s=60)
    assert (new.prompt, new.description, new.thread, new.timeout_s) == (
        "and a test\nplease", "Reply: and a test", job.id, 60,
    )  # fmt: skip
    for name in (*fields, "agent_type", "system_prompt", "thinking_budget", "session_id"):
        assert getattr(new, name) == getattr(job, name), name
    assert (await Runner(world, name="other").poll()).jobs == [], "another machine has nothing of the thread"
    lease = await runner.lease()
    assert (lease.job.id, lease.agent_session) == (new.id, "thread-1")
    assert lease.recap == "You were asked:\nlist files\nYou changed: cart.py\nYou answered:\nI did it"
    assert (await reply(world, (await done(runner, lease)), model="opus")).model == "opus"


async def done(runner, lease):
    await worked(runner, lease, session="thread-2")
    return lease.job


async def test_a_reply_to_an_earlier_job_continues_the_newest(world):
    runner, job = Runner(world), await world.delegate()
    await worked(runner, await runner.lease())
    second = await reply(world, job)
    with pytest.raises(Conflict, match=f"`{second.id}`, which continues `{job.id}`, is `queued`"):
        await reply(world, job)
    await world.control.cancel(ADA, second.id)
    third = await reply(world, job)
    assert third.thread == job.id, "what never ran is no part of the thread"
    await worked(runner, await runner.lease(), session="thread-3", state="failed")
    fourth = await reply(world, job)
    assert (fourth.thread, (await runner.lease()).agent_session) == (third.id, "thread-3")


@pytest.mark.parametrize(
    ("message", "comments", "field"),
    [
        (" ", [], "message"),
        ("x", [("../x", 1)], "comments.0.file"),
        ("x", [("/etc/passwd", 1)], "comments.0.file"),
        ("x", [("a.py", 1), ("a\x1b.py", 1)], "comments.1.file"),
    ],
)
async def test_a_reply_that_is_none_is_refused_with_the_field(world, message, comments, field):
    runner, job = Runner(world), await world.delegate()
    await worked(runner, await runner.lease())
    with pytest.raises(Invalid) as refused:
        await reply(world, job, message, [DiffComment(file=file, line=line, text="t") for file, line in comments])
    assert refused.value.errors[0].field == field


async def test_who_may_reply_and_to_what(world):
    runner, job = Runner(world), await world.delegate()
    with pytest.raises(Conflict, match="is `queued`"):
        await reply(world, job)
    await worked(runner, await runner.lease())
    with pytest.raises(NotFound):
        await reply(world, job, who=BOB)
    with pytest.raises(Forbidden, match="of `ada`"):
        await reply(world, job, who=LEAD)
    never = await world.delegate()
    await world.control.cancel(ADA, never.id)
    with pytest.raises(Conflict, match="its agent never started"):
        await reply(world, never)


async def test_comments_reach_the_agent_with_file_line_and_text(world):
    runner, job = Runner(world), await world.delegate(isolation="worktree")
    await worked(runner, await runner.lease())
    comments = [DiffComment(file="cart.py", line=2, text="why two?"), DiffComment(file="other.py", line=9, text="here")]
    new = await reply(world, job, "", comments)
    assert new.description == "Reply: cart.py:2: why two?"
    assert new.prompt == (
        "Comments on your changes:\n- cart.py:2: why two?\n  (the line is: `b = 2`)\n- other.py:9: here"
    )


@every(
    ("file", "line", "text"),
    [
        ("cart.py", 1, "import a"),
        ("cart.py", 2, "b = 2"),
        ("cart.py", 3, "++ odd"),
        ("cart.py", 4, "c"),
        ("cart.py", 41, "forty"),
        ("cart.py", 42, "y"),
        ("new file.py", 1, "x"),
        ("cart.py", 5, None),
        ("b/cart.py", 1, None),
    ],
)
def test_a_line_is_found_as_the_job_left_it(file, line, text):
    said = worded("look", [DiffComment(file=file, line=line, text="t")], DIFF)
    quote = f"\n  (the line is: `{text}`)" if text else ""
    assert said == f"look\n\nComments on your changes:\n- {file}:{line}: t{quote}"


async def test_a_long_thread_s_summary_has_its_start_and_end(world):
    runner, job = Runner(world), await world.delegate(prompt="the first")
    await worked(runner, await runner.lease(), session="t")
    for number in range(8):
        await reply(world, job, f"message {number} {'x' * 5_000}")
        lease = await runner.lease()
        await worked(runner, lease, session="t")
    await reply(world, job, "the last")
    recap = (await runner.lease()).recap
    asked = [line for line in recap.splitlines() if line.startswith(("the first", "message"))]
    assert [line.split(" x")[0] for line in asked] == ["the first", *(f"message {number}" for number in range(3, 8))]
    assert len(recap) < 30_000


async def test_a_job_that_names_no_thread_has_no_summary(world):
    await world.delegate()
    assert (await Runner(world).lease()).recap == ""
