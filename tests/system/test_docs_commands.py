"""Every command of README and docs/ runs on a fresh server, and a block shows its output.

The blocks of a page run in order, in one shell; below `<!-- run: team -->` on a team's server, as its admin. `…` in a
page matches anything. A command in the text must exist. NOT_RUN has the exceptions.
"""

import importlib.util
import re
import subprocess
import textwrap
from pathlib import Path

import msgspec
import pytest
import typer

from baton.cli.app import app
from tests.support.cases import every
from tests.support.command_line import clean_environment
from tests.support.http_calls import introduce
from tests.support.server import BATON, serving

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "policies/README.md",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
]
BLOCK = re.compile(
    r"^ *(?:<!-- (?P<how>run: team) -->\n *)?```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = {
    "make serve": "the server and the tests themselves",
    "npm install -g": "installs agents from npm and needs their accounts; tests/runner has scripted ones",
    "baton runner": "needs an agent's account and a second terminal; tests/runner has scripted ones",
    "baton jobs": "needs the result of an agent; tests/runner/worktrees and tests/cli/test_jobs.py make one",
    "baton approvals --follow": "waits for an agent; tests/cli/test_following.py",
    "export BATON_URL=": "a person types the token at a terminal; tests/cli/test_account.py",
    "baton db": "for a stopped server, on its machine; tests/cli/test_db.py",
}
"""Beginnings of commands that a page shows and that do not run here, with the reason."""
KINDS = {"sh", "console", "yaml", "json", "python", "mermaid", "text", "diff", "sql"}
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\d+(?:\.\d+)? m?s\b")
"""Ids, timestamps and spans, which differ from run to run."""
PLACEHOLDERS = {
    "ID": "$(baton policy unlocks --json | jq -r '.[0].id')",
    "DECISION": "$(curl -s $BATON_URL/pre-tool-use -d @payload.json | jq -r .decision_id; sleep 2)",
}
READING = re.compile(r"baton (audit export|decisions|explain (?!DECISION)|status)")
"""Commands in the README's text that change nothing, and so run after its blocks."""
AGENTS = {
    "checkout-engineer": ("Works on carts, discounts, gift cards and refunds.", "model: inherit"),
    "code-reviewer": ("Reviews a change for faults before it is merged.", "model: haiku"),
    "test-engineer": ("Writes tests and finds out why one is flaky.", "color: green"),
}
STUBS = {
    "claude": "#!/bin/sh\n",
    "npm": "#!/bin/sh\nexit 9\n",
    "curl": '#!/bin/sh\nPATH=${PATH#*:} exec curl --fail-with-body "$@"\n',
}
"""Programs of the reader: a client to start, an npm that installs nothing, a curl that fails when its request does."""
AS_PERSON = """#!/bin/sh
case $1 in hook | hooks) ;; *) export BATON_TOKEN={token} ;; esac
exec {baton} "$@"
"""
TOKENS = re.compile(r"^  token \w+ of \w+ \(admin\): .*\n", re.MULTILINE)
"""The token stands for the reader's own terminal, which tests have none of; hooks have none on a machine's own server."""


class Command(msgspec.Struct):
    """A command of a page, and the output that the page shows; None for a block without output, which must succeed."""

    text: str
    shown: list[str] | None


def blocks(page):
    return BLOCK.finditer((ROOT / page).read_text())


def commands(page, how):
    """Return the commands of a page's blocks that run in one way; a rule in YAML is written to the file that the page names."""
    found = []
    for block in blocks(page):
        text = textwrap.dedent(block["text"])
        rule = re.match(r"id: (.+)\n", text)
        if how is None and rule and f"`policies/{rule[1]}.yaml`" in (ROOT / page).read_text():
            found.append(Command(f"cat > policies/{rule[1]}.yaml <<'END'\n{text}END", None))
        elif block["how"] != how or block["kind"] not in ("sh", "console") or not_run(text.removeprefix("$ ")):
            continue
        elif block["kind"] == "sh":
            found.append(Command("\n".join(line for line in text.splitlines() if not not_run(line)), None))
        else:
            for line in text.splitlines():
                if line.startswith("$ "):
                    found.append(Command(line[2:], []))
                elif line.startswith("> "):
                    found[-1].text += f"\n{line[2:]}"
                else:
                    found[-1].shown.append(line)
    return found


def not_run(text):
    return text.startswith(tuple(NOT_RUN))


def inline():
    """Return the commands in the text of the pages, and those of blocks that do not run, each with its pages."""
    found = {}
    for page in PAGES:
        text = (ROOT / page).read_text()
        spans = re.findall(r"`((?:baton|make|python -m) [^`]+)`", BLOCK.sub("", text).replace("\\|", "|"))
        for block in blocks(page):
            lines = [line.removeprefix("$ ").partition(" #")[0] for line in textwrap.dedent(block["text"]).splitlines()]
            if not_run(lines[0]):
                spans += [one for line in lines for one in line.split(" && ") if one.startswith(("baton ", "make "))]
        for span in spans:
            found.setdefault(" ".join(span.split()), []).append(page)
    return found


def unknown(span):
    """Return the words of a command that name no command, option, target of make or module."""
    program, *words = span.split()
    if program == "make":
        return {words[0]} - set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    if program == "python":
        return set() if importlib.util.find_spec(words[1]) else {words[1]}
    wrong = set()
    if words[0] == "hook":  # the shim in Python, for clients: `baton.cli.__main__` takes it without the command line
        return wrong
    for ending in words[1].split("|") if len(words) > 1 else [""]:
        command, rest = typer.main.get_command(app), [words[0], ending, *words[2:]]
        while rest and hasattr(command, "commands") and (found := command.get_command(None, rest[0])):
            command, rest = found, rest[1:]
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        wrong |= {word for word in re.findall(r"--[a-z-]+", " ".join(rest)) if word not in options}
        wrong |= {word for word in rest[:1] if word and hasattr(command, "commands") and not word.startswith("-")}
    return wrong


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    """What the reader has: a clone with three agents, a policy of their own, and a client."""
    home = tmp_path / "home"
    place = home / "shop"
    for folder in (place / ".git", place / ".claude/agents", home / "bin", home / "your"):
        folder.mkdir(parents=True)
    (home / "your/project").symlink_to(place)
    for name, (description, more) in AGENTS.items():
        text = f"---\nname: {name}\ndescription: {description}\n{more}\n---\nThe body stays here.\n"
        (place / ".claude/agents" / f"{name}.md").write_text(text)
    (place / ".git/config").write_text('[remote "origin"]\n\turl = https://github.com/acme/shop.git\n')
    for name, text in STUBS.items():
        write_program(home / "bin" / name, text)
    (place / "payload.json").write_text('{"tool_name": "Bash", "tool_input": {"command": "make deploy"}}')
    subprocess.run([BATON, "policy", "new", "team/no-edits", place / "our-policies"], check=True, capture_output=True)
    rule = place / "our-policies/team/no-edits.yaml"
    rule.write_text(re.sub("(?m)^description: .*", "description: Refuse direct edits.", rule.read_text()))
    return place


def play(found, server, project, token, **env):
    """Run commands in one shell; return the output of each, and the exit status of each."""
    home = project.parent
    write_program(home / "bin/baton", AS_PERSON.format(token=token, baton=BATON))
    env = clean_environment(HOME=str(home), BATON_URL=server.url, BATON_USER="alice", TOKEN=token, **env)
    env["PATH"] = f"{home / 'bin'}:{env['PATH']}"
    lines = []
    for number, one in enumerate(found):
        text = re.sub(r"(?:http://)?(?:localhost|127\.0\.0\.1):8080|https://baton\.acme\.example", server.url, one.text)
        text = re.sub(r"baton_[0-9a-f]*_?…", token, text)
        for name, value in PLACEHOLDERS.items():
            text = re.sub(rf"(?<![\w$]){name}(?![\w=])", lambda _, value=value: value, text)
        (home / f"{number}.sh").write_text(f"set -e\n{text}\nset +e\n" if one.shown is None else text)
        lines.append(f". {home}/{number}.sh\necho\necho ---- $?")
    ran = subprocess.run(
        ["sh"],
        input="\n".join(lines),
        env=env,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    output = TOKENS.sub("", ran.stdout).replace(server.url, "http://127.0.0.1:8080")
    parts = re.split(r"\n---- \d+\n", output)
    assert len(parts) == len(found) + 1, f"a block failed:\n{found[len(parts) - 1].text}\n{parts[-1]}"
    return parts[:-1]


def differs(shown, output):
    """Return whether an output is not what a page shows."""
    want = [VARYING.sub("#", line.rstrip()) for line in "\n".join(shown).strip().splitlines()]
    got = [VARYING.sub("#", line.rstrip()) for line in output.strip().splitlines()]
    pattern = "\n".join(re.escape(line).replace("…", ".*") for line in want)
    return not re.fullmatch(pattern, "\n".join(got))


def check(found, outputs):
    wrong = [
        f"$ {one.text}\n{said}"
        for one, said in zip(found, outputs, strict=True)
        if one.shown is not None and differs(one.shown, said)
    ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow("the commands of a page, with a server of its own")
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page, None)])
def test_the_commands_of_a_page_work_as_shown(page, project, tmp_path):
    with serving(tmp_path / "server", BATON_DEFAULT_USER="alice") as server:
        with server.client() as admin:
            token = admin.post("/tokens", json={"user": "alice", "role": "admin"}).json()["text"]
        installed = play([Command("baton hooks install", None)], server, project, token)
        assert "Installed the hooks of Claude Code" in installed[0]
        found = commands(page, None)
        if page == "README.md":
            found += [Command(text, None) for text, pages in inline().items() if page in pages and READING.match(text)]
        check(found, play(found, server, project, token))


@pytest.mark.slow("the commands of a page, with a server of its own")
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page, "run: team")])
def test_the_team_commands_of_a_page_work_as_shown(page, project, tmp_path):
    found = commands(page, "run: team")
    with serving(tmp_path / "server", BATON_AUTH="on", BATON_DEFAULT_USER="root") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as admin:
            for team in ("payments", "shop"):
                admin.put(f"/teams/{team}", json={}).raise_for_status()
            admin.put("/users/ada", json={"team": "shop"}).raise_for_status()
        check(found, play(found, server, project, token, BATON_TOKEN=token))


def test_a_command_in_a_page_exists():
    assert {one: pages for one, pages in inline().items() if unknown(one)} == {}


def test_a_command_in_a_message_exists():
    texts = [path.read_text() for path in (*(ROOT / "app/baton").rglob("*.py"), *(ROOT / "web/src").rglob("*.tsx"))]
    spans = {one for text in texts for one in re.findall(r"(?:`|<code>)(baton [a-z]+ [^`{<\\\n]+)(?:`|</code>)", text)}
    assert [one for one in spans if unknown(one.partition(": ")[0])] == []


def test_a_command_that_does_not_exist_is_seen():
    spans = ("baton modes", "baton mode on", "baton mode enable --now", "make all", "python -m bench.gone")
    assert [one for one in spans if not unknown(one)] == []


def test_every_exception_is_used():
    texts = [line.strip().removeprefix("$ ") for page in PAGES for b in blocks(page) for line in b["text"].splitlines()]
    assert [one for one in NOT_RUN if not any(text.startswith(one) for text in (*texts, *inline()))] == []


@pytest.mark.slow("decides the README's calls on a server of their own")
def test_the_readme_s_table_has_the_verdict_of_each_call(tmp_path):
    rows = re.findall(
        r"^\| (`.+) \| (allowed|asked|refused|rewritten)\b[^|]* \| (?:`(.+)` )?\|$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE,
    )
    assert len(rows) == 10
    wrong = []
    with (
        serving(tmp_path / "server", BATON_DEFAULT_USER="alice") as server,
        server.client() as http,
        server.agent() as agent,
    ):
        introduce(server, users=["alice"])
        for call, answer, rule in rows:
            first = re.match(r"`(.*?)`", call)[1].replace("\\|", "|")
            body = {
                "Agent": {
                    "tool_name": "Agent",
                    "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"},
                },
                "Edit": {"tool_name": "Edit", "tool_input": {"file_path": "cart.py"}},
            }.get(first, {"tool_name": "Bash", "tool_input": {"command": first}})
            mode = {"scope": "user", "id": "alice", "enabled": "orchestrator mode" in call, "level": "strict"}
            http.put("/mode", json=mode).raise_for_status()
            got = agent.post("/pre-tool-use", json=body | {"session_id": "s"}).json()
            given = {"allow": "allowed", "ask": "asked", "block": "refused"}[got["decision"]]
            given = "rewritten" if got["modifiedInput"] != body["tool_input"] else given
            if given != answer or (rule not in [hit["id"] for hit in got["rules"]] if rule else got["rules"]):
                wrong.append((call, given, got["rules"]))
    assert not wrong


@every("page", PAGES)
def test_a_code_block_names_its_language(page):
    assert [block["text"] for block in blocks(page) if block["kind"] not in KINDS] == []


def test_a_page_that_shows_another_output_is_seen():
    assert differs(["allowed: `x`"], "allowed: `y`\n")
    assert not differs(["allowed: …", "after 3 s"], "allowed: `y`\nafter 12 s\n")
