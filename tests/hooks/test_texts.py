"""Skills and commands read by the shim on the server's request, and the printed answer."""

import pytest

from tests.hooks.shim import answers, run_shim

DENY = (
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'
)


def asked(shell, env, folder, server, name="go", *, second=b"{}", first=b"{}", event="PreToolUse"):
    """Ask about an event whose answer wants the texts of a name; return what is printed, and what was sent."""
    replies = iter([answers(first, headers=b"Baton-Wants: texts %b QWJv_-x=\r\n" % name.encode()), answers(second)])

    def reply(connection):
        next(replies)(connection)

    server.reply = reply
    ran = run_shim(shell, env, folder, "claude-code", event)
    assert (ran.code, ran.err) == (0, b"")
    _, sent = server.seen
    assert sent.path == f"/hooks/claude-code?event={event}&about=QWJv_-x="
    assert sent.headers["baton-user"] == b"ada"
    return ran.out, sent.body


def write(path, text="!`ls`"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "place",
    [
        "{folder}/.claude/skills/go/SKILL.md",
        "{folder}/.claude/commands/go.md",
        "{folder}/.claude/commands/team/go.md",
        "{home}/.claude/skills/go/SKILL.md",
        "{home}/.claude/plugins/cache/m/p/1.0/commands/go.md",
    ],
)
def test_a_skill_or_a_command_of_that_name_is_sent(one, env, folder, server, place):
    write(folder / "unlike.md", "no")
    path = folder / place.format(folder=folder, home=env["HOME"])
    write(path)
    write(path.parent / "other.md", "no")
    assert asked(one, env, folder, server) == (b"{}\n", b"!`ls`")


def test_a_skill_is_known_by_the_name_in_its_front_matter_too(shell, env, folder, server):
    write(folder / ".claude/skills/folder/SKILL.md", "---\nname: go\n---\n!`ls`")
    assert b"!`ls`" in asked(shell, env, folder, server)[1]


def test_characters_that_a_name_may_not_have_are_any(one, env, folder, server):
    write(folder / ".claude/commands/a b.md")
    assert asked(one, env, folder, server, "a?b")[1] == b"!`ls`"


def test_a_text_that_is_found_in_a_folder_above_and_through_a_link_is_sent(one, env, folder, server):
    write(folder / "elsewhere/SKILL.md")
    (folder / ".claude/skills").mkdir(parents=True)
    (folder / ".claude/skills/go").symlink_to(folder / "elsewhere")
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    assert asked(one, env, folder / "src", server)[1] == b"!`ls`"


@pytest.mark.parametrize(("second", "printed"), [(DENY, DENY), (b"{}", b'{"systemMessage":"first"}')])
def test_a_non_empty_second_answer_counts(shell, env, folder, server, second, printed):
    assert asked(shell, env, folder, server, first=b'{"systemMessage":"first"}', second=second)[0] == printed + b"\n"


def test_without_a_file_an_empty_text_is_sent(shell, env, folder, server):
    assert asked(shell, env, folder, server, event="UserPromptExpansion")[1] == b""


def test_a_header_s_name_in_an_answer_s_text_has_no_effect(one, env, folder, server):
    server.reply = answers(b'{"systemMessage":"Baton-Wants: texts go QWJv"}')
    run_shim(one, env, folder, "claude-code", "PreToolUse")
    assert len(server.seen) == 1
