"""No program named by a repository runs when the runner uses git, and none of the runner's secrets reaches git."""

import os
import subprocess

import pytest

from baton.runner.worktrees import git as runner_git
from baton.runner.worktrees import results
from baton.runner.worktrees.worktrees import Worktrees
from tests.runner.conftest import git

KEYS = (
    "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "filter.lfs.clean", "filter.lfs.smudge",
    "diff.trap.command", "diff.trap.textconv", "diff.external", "merge.trap.driver", "merge.default.driver",
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "credential.helper", "credential.https://x.example.helper", "gpg.program",
    "gpg.ssh.defaultKeyCommand", "interactive.diffFilter", "pager.diff", "remote.origin.uploadpack",
    "remote.origin.receivepack", "uploadpack.packObjectsHook", "hook.trap.command", "trailer.trap.cmd",
)  # fmt: skip


def _lines(key, value):
    section, _, rest = key.partition(".")
    middle, _, last = rest.rpartition(".")
    return f'[{section} "{middle}"]\n{last} = {value}\n' if middle else f"[{section}]\n{last} = {value}\n"


@pytest.fixture
def trap(repository, tmp_path, monkeypatch):
    """Set every key that names a program, in a file that the repository's configuration includes and in itself."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-for-git")
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\nenv >> {tmp_path}/ran\ncat\n")
    program.chmod(0o755)

    def set_traps():
        text = "".join(_lines(key, str(program)) for key in KEYS) + _lines("filter.trap.required", "true")
        included = tmp_path / "included"
        included.write_text(text)
        config = repository / ".git" / "config"
        config.write_text(f"{config.read_text()}\n{text}[include]\npath = {included}\n")
        hook = repository / ".git" / "hooks" / "pre-push"
        hook.parent.mkdir(exist_ok=True)
        for name in ("pre-push", "post-checkout", "reference-transaction", "post-index-change", "push-to-checkout"):
            hook.with_name(name).write_bytes(program.read_bytes())
            hook.with_name(name).chmod(0o755)

    return set_traps


def ask_for_credential(folder, env):
    asked = b"protocol=https\nhost=x.example\n\n"
    subprocess.run(["git", "credential", "fill"], cwd=folder, env=env, input=asked, check=False)


ATTRIBUTES = "* diff=trap filter=trap merge=trap\n*.bin filter=lfs\n"


async def test_no_command_of_the_runner_starts_a_program_that_the_agent_named(repository, tmp_path, trap):
    trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
    tree = await trees.make(repository, "job_1.1")
    trap()
    (tree.folder / ".gitattributes").write_text(ATTRIBUTES)
    for name in ("a.txt", "new.txt", "big.bin"):
        (tree.folder / name).write_text("changed\n")
    change = await trees.collect(tree, "job_1", 1)
    assert [file.path for file in change.files] == [".gitattributes", "a.txt", "big.bin", "new.txt"]
    assert "+changed" in change.diff
    assert "git's configuration of the repository was changed: `core.alternaterefscommand`" in change.notes[0]
    await results.difference(change.result)
    await results.apply(change.result)
    await results.branch(change.result, "theirs")
    # The next job begins in the repository with the attributes and the configuration of the first one.
    (repository / "a.txt").write_text("uncommitted\n")
    second = await trees.make(repository, "job_2.1")
    assert (second.folder / "a.txt").read_text() == "uncommitted\n"
    assert (await trees.collect(second, "job_2", 1)).notes == []
    await trees.done(second)
    again = await trees.take_up(repository, "job_3.1", "job_2")
    assert again is not None
    await trees.done(again)
    await results.discard(change.result)
    assert not (tmp_path / "ran").exists()


async def test_a_push_runs_the_persons_helper_and_not_the_repositorys(repository, tmp_path, trap, monkeypatch):
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (home / ".gitconfig").write_text(f'[credential]\nhelper = "!touch {tmp_path}/asked; :"\n')
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(repository, "remote", "add", "origin", str(remote))
    trap()
    await runner_git.push(repository, "origin", "HEAD:refs/heads/new")
    assert "refs/heads/new" in git(remote, "for-each-ref")
    env = await runner_git.guarded(repository, dict(os.environ), push=True)
    ask_for_credential(repository, env)
    assert (tmp_path / "asked").exists()
    assert not (tmp_path / "ran").exists()


async def test_git_lfs_keeps_its_filter(repository, tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git-lfs").write_text("#!/bin/sh\nsed s/large/pointer/\n")
    (programs / "git-lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    git(repository, "config", "filter.lfs.clean", "git-lfs clean -- %f")
    git(repository, "config", "filter.lfs.required", "true")
    trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
    tree = await trees.make(repository, "job_1.1")
    (tree.folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    (tree.folder / "a.bin").write_text("large\n")
    assert "+pointer" in (await trees.collect(tree, "job_1", 1)).diff


async def test_git_gets_the_environment_of_an_agent(repository, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-for-git")
    monkeypatch.setenv("GIT_SSH_COMMAND", "touch x")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'alias.seen'='!env'")
    seen = await runner_git.line(repository, "-c", "alias.seen=!env", "seen")
    assert "PATH=" in seen
    assert not any(name in seen for name in ("AWS_SECRET", "GIT_SSH_COMMAND"))
