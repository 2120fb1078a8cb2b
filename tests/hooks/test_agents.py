"""Agent files read by the shim at a session's start, and the time of sending them."""

import json
import subprocess

import pytest

from tests.hooks.shim import answers, run_shim

WANTED = answers(b"{}", headers=b"Baton-Wants: agents\r\n")
CHECKSUM = "baton-agents"


def write(path, name="one", front="description: Does one thing.", body="A body with a secret.", end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"---\nname: {name}\n{front}\n---\n{body}\n".replace("\n", end).encode())


def started(shell, env, folder, server, *, client="claude-code"):
    """Start a session whose agents the server wants; return what it was sent, "" for nothing."""
    server.reply = WANTED
    ran = run_shim(shell, env, folder, client, "SessionStart")
    assert (ran.code, ran.out, ran.err) == (0, b"{}\n", b"")
    first, *more = server.seen
    if not more:
        assert CHECKSUM not in first.headers
        return ""
    (sent,) = more
    assert sent.path == f"/inventory/{client}?checksum={first.headers[CHECKSUM].decode()}"
    assert sent.headers["baton-user"] == b"ada"
    crc, size = subprocess.run(["cksum"], input=sent.body, capture_output=True, check=True).stdout.split()
    assert first.headers[CHECKSUM] == crc + b"-" + size
    return sent.body.decode()


def test_without_agents_nothing_is_reported(shell, env, folder, server):
    server.reply = answers(b"{}")
    run_shim(shell, env, folder, "claude-code", "SessionStart")
    (seen,) = server.seen
    assert CHECKSUM not in seen.headers


def test_agents_that_the_server_knows_are_not_sent(shell, env, folder, server):
    write(folder / ".claude/agents/one.md")
    server.reply = answers(b"{}")
    run_shim(shell, env, folder, "claude-code", "SessionStart")
    (seen,) = server.seen
    assert CHECKSUM in seen.headers


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "PostToolUse"])
def test_no_other_event_looks_at_agents(one, env, folder, server, event):
    write(folder / ".claude/agents/one.md")
    server.reply = WANTED
    run_shim(one, env | {"BATON_DEBUG": "1"}, folder, "claude-code", event)
    (seen,) = server.seen
    assert CHECKSUM not in seen.headers


def test_names_descriptions_and_models_are_sent_and_nothing_else(shell, env, folder, server):
    front = (
        'description: >\n  Reviews.\n\n  Examples:\nuser: "look at this"\nmodel: haiku\ntools: Read, Bash\n'
        "mcpServers:\n  x:\n    env: {KEY: s3cret}\nhooks: {}\nmode: all"
    )
    write(folder / ".claude/agents/one.md", "reviewer", front, "A body.\n---\nname: other\n---")
    write(folder / ".claude/agents/windows.md", "dos", end="\r\n")
    (folder / ".claude/agents/plain.md").write_text("no front matter\nname: x\n")
    assert started(shell, env, folder, server) == (
        '= project one.md\n name: reviewer\n description: >\n   Reviews.\n \n   Examples:\n user: "look at this"\n'
        " model: haiku\n mode: all\n"
        "= project windows.md\n name: dos\n description: Does one thing.\n"
    )


def test_project_agents_precede_the_person_s_and_nearer_folders_are_first(shell, env, folder, server, tmp_path):
    (folder / ".git").mkdir()
    inner = folder / "api" / "v 1"
    home = tmp_path / "home"
    for place in (inner, folder / "api", folder, home):
        write(place / ".claude/agents/one.md", place.name.replace(" ", "-"))
    write(folder / ".claude/agents/team/deep/two.md", "two")
    write(folder / ".claude/agents/.hidden.md", "hidden")
    inner.mkdir(exist_ok=True)
    sent = started(shell, env, inner, server)
    assert [line for line in sent.splitlines() if "name:" in line or line[:1] == "="] == [
        "= project one.md", " name: v-1", "= project one.md", " name: api", "= project one.md", " name: work-place",
        "= project two.md", " name: two", "= user one.md", " name: home",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("client", "own", "user"),
    [
        ("copilot-cli", ".github/agents", ".copilot/agents"),
        ("opencode", ".opencode/agent", ".config/opencode/agents"),
        ("gemini", ".gemini/agents", ".gemini/agents"),
        ("qwen", ".qwen/agents", ".qwen/agents"),
    ],
)
def test_each_client_has_its_own_folders(one, env, folder, server, tmp_path, client, own, user):
    write(folder / own / "a.md", "a")
    write(tmp_path / "home" / user / "b.md", "b")
    write(folder / ".claude/agents/c.md", "c")
    sent = started(one, env, folder, server, client=client)
    assert [line for line in sent.splitlines() if line[:1] == "="] == ["= project a.md", "= user b.md"]


def test_codex_names_no_agent(one, env, folder, server):
    write(folder / ".codex/agents/a.md", "a")
    assert started(one, env, folder, server, client="codex") == ""


def test_agents_of_enabled_plugins_are_sent_with_their_plugin(shell, env, folder, server, tmp_path):
    claude = tmp_path / "home/.claude"
    cache = claude / "plugins/cache"
    for place in ("mart/tools/1.0", "mart/tools/0.9", "mart/off/1.0", "mart/unlisted/1.0"):
        write(cache / place / "agents/one.md", place.replace("/", "-"))
    installed = {
        f"{name}@mart": [{"scope": "user", "installPath": str(cache / "mart" / name / "1.0")}]
        for name in ("tools", "off")
    }
    (claude / "plugins/installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": installed}))
    (claude / "settings.json").write_text(json.dumps({"enabledPlugins": {"tools@mart": True, "off@mart": False}}))
    assert started(shell, env, folder, server) == (
        "= plugin:tools one.md\n name: mart-tools-1.0\n description: Does one thing.\n"
    )


def test_much_is_cut(one, env, folder, server):
    for number in range(230):
        write(folder / f".claude/agents/a{number:03}.md", f"a{number:03}", "description: " + "x" * 100)
    write(folder / ".claude/agents/a000.md", "a000", "description: |\n" + "  more and more\n" * 1_000)
    sent = started(one, env, folder, server)
    assert sent.count("= project") == 200
    assert sent.count("more and more") < 4_000 / len("more and more")
    assert len(sent) < 130_000


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "description",
    [
        'description: "' + "a" * 9_000 + '"',
        "description: " + "more and more " * 900,
        "description: |\n" + "  more and more\n" * 1_000,
        "description: >\n" + "  ééééé\n" * 4_000,
        "tools: " + "x, " * 5_000,
    ],
)
def test_the_model_behind_a_long_value_is_read(shell, env, folder, server, description):
    write(folder / ".claude/agents/one.md", front=f"{description}\nmodel: inherit\ndisable: false")
    sent = started(shell, env, folder, server)
    assert sent.endswith("\n model: inherit\n disable: false\n")
    assert len(sent.encode()) < 4_000


def test_many_long_files_hide_no_model(one, env, folder, server):
    for number in range(200):
        write(folder / f".claude/agents/{number}.md", front="description: " + "x y " * 1_000 + "\nmodel: inherit")
    assert started(one, env, folder, server).count("\n model: inherit\n") == 200


MODELS = {
    "": "",
    "ANTHROPIC_MODEL=glm-5 ANTHROPIC_BASE_URL=https://gate.example/v1": "gateway model=glm-5",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL=glm-5-air ANTHROPIC_DEFAULT_OPUS_MODEL=glm-5": "haiku opus",
    "CLAUDE_CODE_USE_BEDROCK=1 ANTHROPIC_DEFAULT_SONNET_MODEL=x": "sonnet cloud",
    "CLAUDE_CODE_USE_VERTEX=0 ANTHROPIC_BASE_URL=https://api.anthropic.com": "",
    "COPILOT_MODEL=gpt-6": "",
    "CLAUDE_CODE_SESSION_ATTENDED=0": "headless",
    "CLAUDE_CODE_SESSION_ATTENDED=1": "",
}


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("variables", "expected"), MODELS.items())
def test_a_session_s_start_reports_the_environment_s_models(shell, env, folder, server, variables, expected):
    server.reply = answers(b"{}")
    run_shim(shell, env | dict(one.split("=") for one in variables.split()), folder, "claude-code", "SessionStart")
    assert server.seen[0].headers.get("baton-models", b"").decode() == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"COPILOT_MODEL": "gpt-6", "ANTHROPIC_BASE_URL": "http://x"}, ""),
        ({"COPILOT_MODEL": "glm-5", "COPILOT_PROVIDER_BASE_URL": "http://x"}, "gateway model=glm-5"),
    ],
)
def test_copilot_has_its_own_variables(shell, env, folder, server, variables, expected):
    server.reply = answers(b"{}")
    run_shim(shell, env | variables, folder, "copilot-cli", "SessionStart")
    assert server.seen[0].headers.get("baton-models", b"").decode() == expected


@pytest.mark.parametrize("client", ["copilot-cli", "qwen", "gemini"])
@pytest.mark.parametrize("given", ["", " -p ", " --prompt=go", "-p", "--prompted"])
def test_a_client_started_with_a_prompt_is_headless(one, env, folder, server, client, given):
    server.reply = answers(b"{}")
    run_shim(one, env, folder, client, "SessionStart", later={"GIVEN": given})  # words of the process above the hook
    is_alone = client != "gemini" and given in {" -p ", " --prompt=go"}
    assert server.seen[0].headers.get("baton-models", b"").decode() == "headless" * is_alone


def test_a_server_that_takes_no_agents_stops_nothing(shell, env, folder, server):
    write(folder / ".claude/agents/one.md")
    server.reply = answers(b'{"systemMessage":"x"}', headers=b"baton-wants: agents\r\n")
    original = server.reply

    def reply(connection):
        if len(server.seen) == 1:
            original(connection)

    server.reply = reply
    assert run_shim(shell, env, folder, "claude-code", "SessionStart") == (0, b'{"systemMessage":"x"}\n', b"")
    assert len(server.seen) == 2
