"""Things out of an agent's reach: targets of links, files outside, and its runner's descriptors."""

import json
import os
import sys
from pathlib import Path

import pytest

from baton.runner import files
from baton.runner.agents.process import ProcessTree
from baton.runner.worktrees import worktrees
from baton.runner.worktrees.worktrees import Worktrees
from tests.runner.conftest import ended, git
from tests.support.samples import one_in

USES = {"read": files.read, "write": lambda root, path: files.write(root, path, "y")}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("swapped", ["the workspace", "a folder", "the file"])
def test_a_link_that_replaces_a_part_of_the_path_after_the_check_is_not_followed(tmp_path, monkeypatch, swapped, use):
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "folder").mkdir(parents=True)
    (outside / "folder" / "x").write_text("secret")
    if swapped == "the workspace":
        root.symlink_to(outside)
    elif swapped == "a folder":
        root.mkdir()
        (root / "folder").symlink_to(outside / "folder")
    else:
        (root / "folder").mkdir(parents=True)
        (root / "folder" / "x").symlink_to(outside / "folder" / "x")
    monkeypatch.setattr(Path, "resolve", lambda self: self)  # the check found no link
    with pytest.raises(OSError, match=r"root|folder|x"):
        use(root, "folder/x")
    assert (outside / "folder" / "x").read_text() == "secret"


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("inside", "answer"), [(True, "allow_once"), (False, "reject_once")], ids=["inside", "outside"]
)
@pytest.mark.parametrize("kind", one_in(2, ["edit", "delete", "move", "read"], "starts an agent"))
async def test_a_place_that_an_agent_names_beside_its_input_must_be_in_the_workspace(
    server, running, shop, tmp_path, kind, inside, answer
):
    server.policy = lambda _request: {"answer": "allow"}
    places = [{"path": str(shop / "a.txt")}, {"path": str(shop / "b.txt" if inside else tmp_path / "b.txt")}]
    call = json.dumps({"kind": kind, "title": "w", "rawInput": {}, "locations": places})
    job = server.give(f"ask {call}")
    async with running():
        await ended(server, job)
    assert server.texts(job)[:1] == [answer]


async def test_an_agent_inherits_no_descriptor_but_its_three_pipes(tmp_path):
    shown = (
        "import os; print([fd for fd in sorted(os.listdir('/proc/self/fd')) if os.path.exists('/proc/self/fd/' + fd)])"
    )
    kept, ours = os.pipe()
    os.set_inheritable(ours, True)
    tree = await ProcessTree.start([sys.executable, "-c", shown], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    try:
        assert await tree.stdout.readline() == b"['0', '1', '2']\n"
    finally:
        await tree.end()
        os.close(kept)
        os.close(ours)


@pytest.mark.parametrize(("spare", "cut"), [(0, False), (-1, True)], ids=["as large as may be", "one byte more"])
async def test_a_too_large_diff_is_cut_and_marked(repository, tmp_path, monkeypatch, spare, cut):
    trees = Worktrees(tmp_path / "trees", keep=1, days=1)
    tree = await trees.make(repository, "job.1")
    (tree.folder / "a.txt").write_text("ä" * 1_000)
    whole = (await trees.collect(tree, "job", 1)).diff
    limit = len(whole.encode()) + spare
    monkeypatch.setattr(worktrees, "LARGEST_DIFF", limit)
    change = await trees.collect(tree, "job", 1)
    shown = change.diff
    assert change.truncated is cut
    assert whole.startswith(shown)
    assert limit - 4 < len(shown.encode()) <= limit
    assert (shown == whole) is not cut
    assert git(tree.folder, "status", "--porcelain").strip() == "M  a.txt"
