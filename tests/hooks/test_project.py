"""The shim and the command line name the same project, in real repositories."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from baton.local.project import find_project
from baton.shared.caller import _worktrees
from tests.hooks.shim import PYTHON, run_shim

GIT_ENV = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}


def git(where: Path, *arguments: str) -> None:
    name = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *name, *arguments], cwd=where, env=GIT_ENV, check=True, capture_output=True)


def repository(at: Path, remote: str = "") -> Path:
    at.mkdir(parents=True)
    git(at, "init", "-q")
    if remote:
        git(at, "remote", "add", "upstream", "https://example.org/up/stream.git")
        git(at, "remote", "add", "origin", remote)
    git(at, "commit", "-q", "--allow-empty", "-m", "first")
    return at


def subfolder(base: Path) -> Path:
    inner = repository(base / "repo", "git@github.com:team/repo.git") / "a b" / "c"
    inner.mkdir(parents=True)
    return inner


def worktree(base: Path) -> Path:
    git(
        repository(base / "repo", "git@github.com:team/repo.git"),
        "worktree",
        "add",
        "-qb",
        "other",
        str(base / "tree é"),
    )
    return base / "tree é"


def submodule(base: Path) -> Path:
    inner = repository(base / "inner")
    outer = repository(base / "outer", "https://github.com/team/outer")
    git(outer, "submodule", "add", "-q", str(inner), "lib")
    git(outer / "lib", "remote", "set-url", "origin", "https://ada:pw@github.com/team/lib.git")
    return outer / "lib"


def submodule_worktree(base: Path) -> Path:
    git(submodule(base), "worktree", "add", "-qb", "other", str(base / "lib-tree"))
    return base / "lib-tree"


def relative_worktree(base: Path) -> Path:
    tree = worktree(base)
    (git_folder,) = (base / "repo" / ".git" / "worktrees").iterdir()
    (tree / ".git").write_text(f"gitdir: {os.path.relpath(git_folder, tree)}\n")
    return tree


def by_link(base: Path) -> Path:
    (base / "link").symlink_to(repository(base / "real"))
    return base / "link"


def hand_edited(base: Path) -> Path:
    at = repository(base / "repo")
    text = '[remote "up"]\n url = https://no/no\n# [remote "origin"]\n[remote "origin"]\n\tfetch = x\n url=  https://h/team/repo/'
    (at / ".git" / "config").write_text(text)
    return at


def plain(base: Path) -> Path:
    (base / "no git").mkdir()
    return base / "no git"


def remote(url: str) -> Callable[[Path], Path]:
    return lambda base: repository(base / "repo", url)


CASES: list[tuple[str, Callable[[Path], Path], str, str]] = [
    ("no git", plain, "{base}/no git", "no git"),
    ("no remote", lambda base: repository(base / 'r "q" $x'), '{base}/r "q" $x', 'r "q" $x'),
    ("https", remote("https://github.com/team/repo.git"), "github.com/team/repo", "repo"),
    ("credentials", remote("https://ada:s3cret@github.com/team/repo.git"), "github.com/team/repo", "repo"),
    ("token with @", remote("https://tok@en:x@github.com/team/repo"), "github.com/team/repo", "repo"),
    ("port", remote("https://git.example.org:8443/team/repo/"), "git.example.org:8443/team/repo", "repo"),
    ("scp", remote("git@github.com:team/repo.git"), "github.com/team/repo", "repo"),
    ("scp absolute", remote("git.example.org:/srv/team/repo.git"), "git.example.org/srv/team/repo", "repo"),
    ("scp and colon", remote("git@host:team/a:b"), "host/team/a:b", "repo"),
    ("ssh", remote("ssh://git@git.example.org:2222/team/repo.git"), "git.example.org:2222/team/repo", "repo"),
    ("unicode", remote("https://host/équipe/dépôt.git"), "host/équipe/dépôt", "repo"),
    ("file", remote("file:///srv/git/repo.git"), "/srv/git/repo", "repo"),
    ("path", remote("/srv/git/repo.git"), "/srv/git/repo", "repo"),
    ("path with colon", remote("/srv/g:t/repo"), "/srv/g:t/repo", "repo"),
    ("relative path", remote("../other.git"), "{base}/repo", "repo"),
    ("subfolder", subfolder, "github.com/team/repo", "repo"),
    ("worktree", worktree, "github.com/team/repo", "tree é"),
    ("relative worktree", relative_worktree, "github.com/team/repo", "tree é"),
    ("submodule", submodule, "github.com/team/lib", "outer/lib"),
    ("worktree of a submodule", submodule_worktree, "github.com/team/lib", "lib-tree"),
    ("symbolic link", by_link, "{base}/real", "real"),
    ("edited by hand", hand_edited, "h/team/repo", "repo"),
]


@pytest.mark.matrix(4)
@pytest.mark.parametrize(("make", "name", "root"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_project_has_one_name_for_shim_and_command_line(make, name, root, env, server, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    where = make(base)
    project = find_project({}, where)
    assert (project.name, project.root) == (name.format(base=base), str(base / root))
    for shell in (["sh"], ["bash", "--posix"], PYTHON):
        run_shim(shell, env | {"PWD": str(where)}, where)
    for seen in server.seen:
        assert seen.headers["baton-project"].decode() == project.name
        assert seen.headers["baton-root"].decode() == project.root
    assert len(server.seen) == 3


def test_the_clients_project_folder_counts_and_not_where_the_agent_went(env, server, tmp_path, folder):
    project = repository(tmp_path / "repo", "git@github.com:team/repo.git")
    extra = {"CLAUDE_PROJECT_DIR": str(project)}
    run_shim(["sh"], env | extra, folder)
    assert server.seen[0].headers["baton-project"] == b"github.com/team/repo"
    assert find_project(extra, folder).name == "github.com/team/repo"


SSH = """
Host *.corp.example !plain.corp.example
  HostName %h.internal
host=github-work "gh-quoted"
\tHOSTNAME = github.com
  HostName second.example
Match host other
  HostName never.example
Host bb
  User git
Include more.d/*
Host oth?r
  HostName other.example
"""
GIT = """
[user]
\tname = ada
[url "https://github.com/"]
  insteadOf = gh:
\tinsteadof = "github:"
[URL "git@github-work:"]
  insteadOf = work:
[url "https://mirror.example/acme/"]
  insteadOf = https://github.com/acme/
[url "https://never.example/"]
  pushInsteadOf = https://gitlab.com/
[core]
  insteadOf = https://codeberg.org/
"""
SPELLINGS = [
    ("git@github-work:acme/shop.git", "github.com/acme/shop"),
    ("ssh://git@github-work:22/acme/shop.git", "github.com:22/acme/shop"),
    ("git+ssh://git@github-work/acme/shop/", "github.com/acme/shop"),
    ("gh:acme/shop", "github.com/acme/shop"),
    ("github:acme/shop.git", "github.com/acme/shop"),
    ("work:acme/shop.git", "github.com/acme/shop"),
    ("https://github.com/acme/shop", "mirror.example/acme/shop"),
    ("https://gitlab.com/acme/shop", "gitlab.com/acme/shop"),
    ("https://codeberg.org/acme/shop", "codeberg.org/acme/shop"),
    ("https://github-work/acme/shop", "github-work/acme/shop"),
    ("git@a.corp.example:acme/shop", "a.corp.example.internal/acme/shop"),
    ("git@other:acme/shop", "other.example/acme/shop"),
    ("git@bb:acme/shop", "bitbucket.org/acme/shop"),
    ("ssh://git@[::1]:22/acme/shop", "[::1]:22/acme/shop"),
]
EACH = [["sh"], pytest.param(["bash", "--posix"], marks=pytest.mark.slow("sh stands for it")), PYTHON]


@pytest.mark.parametrize("shell", EACH, ids=["sh", "bash", "baton"])
def test_aliases_of_hosts_and_short_urls_are_resolved(env, server, tmp_path, shell):
    home = tmp_path / "home"
    (home / ".ssh/more.d").mkdir(parents=True)
    (home / ".ssh/config").write_text(SSH)
    (home / ".ssh/more.d/one").write_text("HostName bitbucket.org\n")
    (home / ".gitconfig").write_text(GIT)
    at = repository(tmp_path / "repo", "x")
    for url, _ in SPELLINGS:
        git(at, "remote", "set-url", "origin", url)
        run_shim(shell, env, at)
    assert [seen.headers["baton-project"].decode() for seen in server.seen] == [name for _, name in SPELLINGS]


@pytest.mark.parametrize("shell", EACH, ids=["sh", "bash", "baton"])
def test_the_worktrees_of_a_repository_are_reported_from_each_of_them(env, server, tmp_path, shell):
    first = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    run_shim(shell, env, first)
    git(first, "worktree", "add", "-qb", "other", str(tmp_path / "tree é"))
    git(first, "worktree", "add", "-qb", "third", str(first / "inside"))
    tree = tmp_path / "tree é"
    (relative,) = (first / ".git/worktrees").glob("tree*")
    (relative / "gitdir").write_text(os.path.relpath(tree / ".git", relative) + "\n")
    for place in (first, tree, first / "inside"):
        run_shim(shell, env, place)
    alone, *others = (_worktrees(seen.headers.get("baton-worktrees", b"").decode()) for seen in server.seen)
    assert alone == ()
    assert [set(one) for one in others] == [{str(first), str(tree), str(first / "inside")}] * 3


def test_a_name_can_be_given(env, server, folder):
    run_shim(["sh"], env | {"BATON_PROJECT": "shop"}, folder)
    assert server.seen[0].headers["baton-project"] == b"shop"
    assert find_project({"BATON_PROJECT": "shop"}, folder).name == "shop"


def test_a_project_without_git_at_the_top_of_the_disk_is_that_folder(env, server):
    run_shim(["sh"], env, Path("/"))
    assert server.seen[0].headers["baton-root"] == b"/"
    assert find_project({}, Path("/")).root == "/"
