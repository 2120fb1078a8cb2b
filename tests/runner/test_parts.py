"""The runner's parts without a server: files, configuration, worktrees, updates, permissions."""

import asyncio
import io
import os
import sys
import time

import pytest

from baton.runner import config, files, template
from baton.runner.agents import updates
from baton.runner.agents.process import ProcessTree
from baton.runner.environment import environment
from baton.runner.permissions import Permissions, named_paths, with_locations
from baton.runner.wire import LeasedTask, LeaseRevoked, Link, PermissionReply, RequestRefused, ServerConnection
from baton.runner.worktrees.worktrees import LARGEST_DIFF, NoWorktree, Worktrees
from baton.shared.providers import ACP_AGENTS, PROVIDERS
from tests.runner.conftest import git
from tests.support.cases import every


@pytest.mark.parametrize("path", ["/etc/hostname", "../x", "in/../../x", "out/x", "out", "", "a\0b", "~/x", "loop"])
def test_no_way_leads_out_of_a_workspace(tmp_path, path):
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    (tmp_path / "x").write_text("secret")
    for use in (lambda: files.read(root, path), lambda: files.write(root, path, "y")):
        with pytest.raises((files.OutsideWorkspace, OSError)):
            use()
    assert not files.is_inside(root, path)
    assert (tmp_path / "x").read_text() == "secret"


def test_a_link_that_stays_inside_is_followed_and_a_pipe_is_not_opened(tmp_path):
    (tmp_path / "real").write_text("1\n2\n3\n")
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    assert files.read(tmp_path, "link", first=2, lines=1) == "2\n"
    with pytest.raises((files.OutsideWorkspace, OSError)):
        files.write(tmp_path, "pipe", "x")
    with pytest.raises(files.OutsideWorkspace, match="plain file"):
        files.read(tmp_path, "pipe")


def test_a_link_put_in_the_way_after_the_look_is_refused(tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path)
    monkeypatch.setattr(files, "_real", lambda _root, path: root / path)
    with pytest.raises(OSError, match="folder"):
        files.write(root, "folder/x", "y")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("link", ["root", "root/folder", "root/folder/x"], ids=["top", "folder", "file"])
@pytest.mark.parametrize(
    "use", [lambda root: files.write(root, "folder/x", "y"), lambda root: files.read(root, "folder/x")]
)
def test_no_part_of_a_path_is_followed_if_it_has_become_a_link(tmp_path, monkeypatch, link, use):
    real = tmp_path / "elsewhere" / link
    real.mkdir(parents=True) if link != "root/folder/x" else real.parent.mkdir(parents=True)
    secret = tmp_path / "elsewhere" / "root/folder/x"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("secret")
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(real)
    monkeypatch.setattr(files.Path, "resolve", lambda path: path)  # what was resolved before the link was put there
    with pytest.raises((files.OutsideWorkspace, OSError)):
        use(tmp_path / "root")
    assert secret.read_text() == "secret"


async def test_an_agent_inherits_no_descriptor_of_the_runner(tmp_path):
    inheritable = [os.open(tmp_path, os.O_RDONLY) for _ in range(300)]
    listing = "import os\nfor fd in range(3, 1024):\n try: os.fstat(fd); print(fd)\n except OSError: pass\nprint('all')"
    try:
        for one in inheritable:
            os.set_inheritable(one, True)
        tree = await ProcessTree.start([sys.executable, "-I", "-S", "-c", listing], cwd=tmp_path, env=dict(os.environ))
        assert await tree.stdout.read() == b"all\n"
        await tree.end()
    finally:
        for one in inheritable:
            os.close(one)


@pytest.mark.parametrize("size", [1_000, 100_001])
async def test_a_long_diff_is_cut_between_characters_and_marked(repository, tmp_path, size):
    trees = Worktrees(tmp_path / "trees", keep=5, days=1)
    tree = await trees.make(repository, "job.1")
    (tree.folder / "new.txt").write_text("ä" * (size // 2))
    change = await trees.collect(tree, "job", 1)
    diff, short = change.diff, change.truncated
    assert short == (size > LARGEST_DIFF)
    assert len(diff.encode()) <= LARGEST_DIFF
    assert (diff.count("ä") == size // 2) == (not short)
    assert "\ufffd" not in diff


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("slots: 0", "slots"),
        ("nonsense: 1", "nonsense"),
        ("workspaces: {shop: /no/such/folder}", "not a folder"),
        ("workspaces: {all: /}", "name one project"),
        ("workspaces: {../x: /tmp}", "letters"),
        ("workspaces: {tmp: {folder: /no/such}}", "`/no/such`, not a folder"),
        ("workspaces: {tmp: {folder: /tmp, copies: [x]}}", "did you mean `copy`"),
        ("workspaces: {tmp: {folder: /tmp, copy: [/etc/passwd]}}", "`/etc/passwd`; give globs"),
        ("workspaces: {tmp: {folder: /tmp, copy: [a/../../b]}}", "without `..`"),
        ("workspaces: {tmp: {folder: /tmp, copy: [.git/config]}}", "`.git`"),
        ("workspaces: {tmp: {folder: /tmp, copy: ['']}}", "give globs"),
        ("workspaces: {tmp: {folder: /tmp, copy: ['~/x']}}", "give globs"),
        ("workspaces: {tmp: {folder: /tmp, setup_timeout_s: 0}}", "setup_timeout_s"),
        ("providers: {codex: {command: []}}", "command"),
        ("providers: {claude-cod: {}}", "needs a `command`.*did you mean `claude_code`"),
        ("providers: {codex: {}, codex-acp: {}}", "`codex` is listed twice"),
        ("providers: {'a/b': {command: [x]}}", "`a/b` may contain only"),
        ("providers: {goose: {driver: claude-print}}", "`goose` needs a `command`"),
        ("slot: 2", "did you mean `slots`"),
        ("providers: {codex: {command: [x], driver: telnet}}", "`driver`: `telnet` is not allowed; allowed: `acp`"),
        ("{", "is not valid"),
    ],
)
def test_an_invalid_file_is_reported_with_the_reason(tmp_path, text, word):
    (tmp_path / "runner.yaml").write_text(text)
    with pytest.raises(config.ConfigError, match=word):
        config.load(tmp_path / "runner.yaml")


@pytest.mark.parametrize(
    "installed", [(), ("codex-acp",), ("claude",), ("codex",), ("codex-acp", "codex", "claude-agent-acp", "claude")]
)
def test_the_written_file_is_valid_and_lists_installed_agents(tmp_path, installed):
    programs, project = tmp_path / "bin", tmp_path / "my #1: shop"
    project.mkdir()
    programs.mkdir()
    for name in installed:
        (programs / name).write_text("")
        (programs / name).chmod(0o755)
    (tmp_path / "runner.yaml").write_text(template.written({"PATH": str(programs)}, project))
    read = config.load(tmp_path / "runner.yaml")
    assert read.workspaces == {"my-1-shop": str(project)}
    needless = {"claude": "claude-agent-acp", "codex": "codex-acp"}
    expected = set(installed) - {adapter for program, adapter in needless.items() if program in installed}
    assert {one.command[0] for one in read.providers.values()} == expected


def test_an_agent_that_is_known_by_name_needs_no_command_and_any_other_may_be_served(tmp_path):
    text = "providers: {codex-acp: {}, goose: , Qwen-Code: {models: [x]}, my-agent: {command: [mine, --acp]}}"
    (tmp_path / "runner.yaml").write_text(text)
    found = config.load(tmp_path / "runner.yaml").providers
    assert {name: one.command for name, one in found.items()} == {
        "codex": ["codex-acp"],
        "goose": ["goose", "acp"],
        "qwen_code": ["qwen", "--acp"],
        "my_agent": ["mine", "--acp"],
    }


FULL = {
    "PATH": "/bin", "HOME": "/h", "LC_TIME": "C", "XDG_CONFIG_HOME": "/c", "https_proxy": "http://proxy", "BATON_URL": "http://b",
    "ANTHROPIC_API_KEY": "a", "CLAUDE_CODE_OAUTH_TOKEN": "o", "OPENAI_API_KEY": "p", "CODEX_HOME": "/x", "GEMINI_API_KEY": "g",
    "OPENCODE_CONFIG": "/o", "AWS_SECRET_ACCESS_KEY": "s", "AWS_PROFILE": "dev", "GITHUB_TOKEN": "t", "DATABASE_URL": "d",
    "SSH_AUTH_SOCK": "/s", "BATON_TOKEN": "owner", "BATON_DISABLED": "1", "BATON_WORK_ITEMS_COMMAND": "x", "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PROJECT_DIR": "/p", "LD_PRELOAD": "/evil.so",
}  # fmt: skip
EVERYBODY = {"PATH", "HOME", "LC_TIME", "XDG_CONFIG_HOME", "https_proxy", "BATON_URL"}
ENVIRONMENTS = [
    ("claude_code", [], [], {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}),
    ("codex", [], [], {"OPENAI_API_KEY", "CODEX_HOME"}),
    ("gemini", [], [], {"GEMINI_API_KEY"}),
    ("opencode", [], [], {"OPENCODE_CONFIG"}),
    ("gemini", ["AWS_*"], [], {"GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"}),
    ("gemini", [], ["AWS_PROFILE", "OPENAI_*"], {"GEMINI_API_KEY", "AWS_PROFILE", "OPENAI_API_KEY"}),
    ("codex", ["BATON_TOKEN", "BATON_*", "CLAUDE*"], ["BATON_TOKEN"],
     {"OPENAI_API_KEY", "CODEX_HOME", "BATON_WORK_ITEMS_COMMAND", "CLAUDE_CODE_OAUTH_TOKEN"}),
]  # fmt: skip


@every(("name", "env_pass", "own", "more"), ENVIRONMENTS)
def test_an_agent_gets_allowed_variables_only(name, env_pass, own, more):
    made = environment(FULL, name, config.Provider(command=["x"], env_pass=own), env_pass)
    assert made == {key: FULL[key] for key in EVERYBODY | more}


def test_an_agent_has_the_attempt_s_token_never_the_runner_s():
    made = environment(FULL, "codex", config.Provider(command=["x"], env={"MORE": "m"}), ["*"], agent_token="mine")
    assert (made["BATON_TOKEN"], made["MORE"], made["GITHUB_TOKEN"]) == ("mine", "m", "t")
    assert "BATON_TOKEN" not in environment(FULL, "codex", config.Provider(command=["x"]), ["*"])


def test_every_provider_has_a_title_and_its_own_variables():
    assert all(ACP_AGENTS[name].variables and ACP_AGENTS[name].title for name in PROVIDERS)


@pytest.mark.parametrize(("confirm", "by", "allowed"), [
    ("by-rules", "policy", True), ("by-rules", "user", True), ("always", "policy", False), ("always", "user", True),
    ("always", "", False),
])  # fmt: skip
async def test_with_confirm_always_only_a_person_allows(tmp_path, drives, confirm, by, allowed):
    answers = iter(
        [PermissionReply(permission="p0", answer="allow"), PermissionReply(permission="p1", answer="pending")]
    )

    class ServerConnection:
        async def ask(self, _job, body):
            assert body["request"]["confirm"] == confirm
            return next(answers)

    lease = LeasedTask(job="job_0", attempt=1, token="t", provider="codex", workspace="shop", prompt="x")
    settings = config.RunnerConfig(confirm=confirm)
    job = drives("job", "RunningJob")(
        lease, settings, ServerConnection(), Worktrees(tmp_path, keep=1, days=1), tmp_path, {}
    )
    job._permissions = Permissions(tmp_path, job._ask, confirm=confirm)
    request = {"title": "run make", "tool_input": {}}
    assert await job._permissions.allowed(request) == (confirm == "by-rules")
    job.answer("p1", allow=True, by=by)
    assert await job._permissions.allowed(request) == allowed


@every(
    ("kind", "given", "paths"),
    [
        ("edit", {}, ["a", "b"]),
        ("delete", {"paths": ["c"]}, ["c", "a", "b"]),
        ("move", {"paths": "odd"}, ["a", "b"]),
        ("read", {}, None),
        ("execute", {"command": "x"}, None),
        (None, {}, None),
    ],
)
def test_the_places_that_a_call_changes_are_a_part_of_its_input(kind, given, paths):
    assert with_locations(kind, given, ["a", "b"]).get("paths") == paths


def test_a_path_in_a_list_is_named_too():
    assert named_paths({"paths": ["../x", 1, ""], "file_path": "a"}) == ["a", "../x"]


async def test_snapshots_wait_for_each_other_and_for_a_person_who_uses_git_meanwhile(repository, tmp_path, monkeypatch):
    trees = Worktrees(tmp_path / "trees", keep=20, days=1)
    (repository / "a.txt").write_text("not committed\n")
    lock = repository / ".git" / "index.lock"
    lock.touch()
    waits = []

    async def wait(seconds):
        waits.append(seconds)
        if len(waits) == 2:
            lock.unlink()

    monkeypatch.setattr("baton.runner.worktrees.worktrees.asyncio.sleep", wait)
    made = await asyncio.gather(*(trees.make(repository, f"job.{number}") for number in range(8)))
    assert {(tree.folder / "a.txt").read_text() for tree in made} == {"not committed\n"}
    assert len(waits) == 2


async def test_a_worktree_starts_at_the_commit_and_lists_changes(repository, tmp_path):
    trees = Worktrees(tmp_path / "trees", keep=5, days=1)
    (repository / "a.txt").write_text("not committed\n")
    tree = await trees.make(repository, "job.1", "leave")
    assert (tree.folder / "a.txt").read_text() == "one\n"
    assert "without them" in tree.note
    (tree.folder / "a.txt").write_text("two\n")
    (tree.folder / "new.txt").write_text("new\n")
    git(tree.folder, "add", "new.txt")
    git(tree.folder, "commit", "-qm", "the agent's own")
    change = await trees.collect(tree, "job", 1)
    assert not change.truncated
    assert "-one\n+two" in change.diff
    assert "+new" in change.diff
    assert [(file.path, file.change, file.added, file.deleted) for file in change.files] == [
        ("a.txt", "modified", 1, 1),
        ("new.txt", "added", 1, 0),
    ]
    assert (repository / "a.txt").read_text() == "not committed\n"


async def test_worktrees_of_ended_jobs_are_kept_for_a_while_and_none_leaks(repository, tmp_path):
    trees = Worktrees(tmp_path / "trees", keep=2, days=1)
    made = [await trees.make(repository, f"job.{number}") for number in range(5)]
    await trees.tidy()
    assert len(list((tmp_path / "trees").iterdir())) == 5
    for number, tree in enumerate(made):
        await trees.done(tree)
        if tree.top.exists():
            os.utime(tree.top, (time.time() - 1_000 + number,) * 2)
    assert sorted(path.name for path in (tmp_path / "trees").iterdir()) == ["job.3", "job.4"]
    assert git(repository, "worktree", "list").count("\n") == 3
    os.utime(made[3].top, (1, 1))
    await Worktrees(tmp_path / "trees", keep=2, days=1).tidy()
    assert git(repository, "worktree", "list").count("\n") == 2


async def test_a_folder_in_a_repository_stays_the_workspace(repository, tmp_path):
    (repository / "api").mkdir()
    tree = await Worktrees(tmp_path / "trees", keep=2, days=1).make(repository / "api", "job.1")
    assert tree.folder == tree.top / "api"
    with pytest.raises(NoWorktree, match="git"):
        await Worktrees(tmp_path / "trees", keep=2, days=1).make(tmp_path, "job.2")


def test_a_too_long_event_loses_its_long_parts_only():
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "rawInput": {"content": "y" * 300_000}}
    (fitted,) = updates.fitting(call)
    assert (fitted["toolCallId"], fitted["title"]) == ("t", "x")
    assert fitted["_meta"] == {"baton": {"omitted": ["rawInput"]}}


async def test_an_answer_before_its_question_counts(tmp_path):
    async def ask(_request):
        permissions.answer("p1", allow=True)
        await asyncio.sleep(0)
        return PermissionReply(permission="p1", answer="pending")

    permissions = Permissions(tmp_path, ask)
    assert await permissions.allowed({"tool_input": {}})


@pytest.mark.parametrize("error", [RequestRefused("no"), LeaseRevoked("another's")])
async def test_a_request_that_the_server_does_not_answer_is_denied(tmp_path, drives, error):
    class ServerConnection:
        async def ask(self, *_):
            raise error

    lease = LeasedTask(job="job_0", attempt=1, token="t", provider="codex", workspace="shop", prompt="x")
    worktrees = Worktrees(tmp_path, keep=1, days=1)
    job = drives("job", "RunningJob")(lease, config.RunnerConfig(), ServerConnection(), worktrees, tmp_path, {})
    permissions = Permissions(tmp_path, job._ask)
    assert not await permissions.allowed({"title": "run make", "tool_input": {}})


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_updated_line_per_job(shop, tmp_path, drives):
    lease = LeasedTask(job="job_0123456789", attempt=1, token="t", provider="codex", workspace="shop", prompt="x")
    server = ServerConnection(Link(url="http://127.0.0.1:9"), "r")
    job = drives("job", "RunningJob")(
        lease, config.RunnerConfig(), server, Worktrees(tmp_path, keep=1, days=1), tmp_path, {}
    )
    job.note, job.events = "edit \x1b[2Ja.py", 7
    out = Terminal()
    shown = drives("runner", "TerminalProgress")(out)
    shown.show([job])
    assert "job_01234567  codex in shop  0 s  7 events  edit  [2Ja.py" in out.getvalue()
    shown.say("something happened")
    assert out.getvalue().count("\x1b[1F\x1b[J") == 1
    assert out.getvalue().endswith("something happened\n")


def test_an_agent_gets_the_trace_of_its_attempt_and_not_the_runner_s():
    env = {"TRACEPARENT": "the runner's", "PATH": "/bin"}
    provider = config.Provider(command=["agent"])
    assert "TRACEPARENT" not in environment(env, "codex", provider)
    assert environment(env, "codex", provider, traceparent="00-x")["TRACEPARENT"] == "00-x"
