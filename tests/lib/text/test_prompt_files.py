from baton.lib.text.prompt_files import held_lines, is_prompt_file, shell_lines
from tests.support.cases import every

SKILL = """\
Write `` !`touch 01` `` in
`a` !`touch 02`
(!`touch 03`)
```js
!`touch 04`
```
> !`touch 05`
`code !`touch 06` more`
`x !`touch 07``
\ufeff!`touch 08`
\\!`touch 09`
<!-- !`touch 10` -->
 ```!
 touch 11
 ```
x```! touch 12```
"""


def test_the_lines_found_are_those_that_claude_code_ran():
    found = shell_lines([".claude/skills/x/SKILL.md"], SKILL)
    assert sorted(line[-2:] for line in found) == ["01", "02", "04", "05", "08", "10", "11", "12"]


@every(
    ("path", "text", "lines"),
    [
        (".opencode/command/x.md", "a!`ls` (!`pwd`) !{id}", ["ls", "pwd"]),
        (".claude/commands/x.md", "a!`ls` (!`pwd`) !{id}", []),
        (".gemini/commands/x.toml", 'prompt = "a !{ls ${X}} !{pwd}"', ["ls ${X}", "pwd"]),
        (".gemini/commands/x.toml", 'prompt = "\\u0021\\u007bls}"', ["ls"]),
        (".gemini/commands/x.toml", 'a part !{ls \\"b\\"} of it', ['ls "b"']),
        (".gemini/commands/x.toml", "prompt = 'a !{ls'", ["ls"]),
        (".qwen/commands/x.md", "a !{ls}", ["ls"]),
        (".claude/skills/x/SKILL.md", "```!\nls", ["ls"]),
        (".claude/skills/x/SKILL.md", "!`\nls\npwd\n`", ["\nls\npwd\n"]),
    ],
)
def test_each_client_s_syntax_is_read_in_its_own_files(path, text, lines):
    assert shell_lines([path], text) == lines


@every(
    ("path", "known"),
    [
        ("/home/dev/.claude/skills/x/SKILL.md", True),
        ("SKILL.md", True),
        ("plugins/p/skills/x/skill.MD", True),
        (".claude/commands/front/x.md", True),
        (".gemini\\commands\\x.toml", True),
        (".opencode/command/x.md", True),
        ("docs/skills.md", False),
        ("src/commands/x.py", False),
        ("README.md", False),
    ],
)
def test_skills_and_commands_are_known_by_their_paths(path, known):
    assert is_prompt_file(path) is known


def test_removed_text_of_an_edit_is_not_read():
    edit = {"file_path": "SKILL.md", "old_string": "!`rm x`", "edits": [{"oldText": "!`rm y`", "newText": "!`ls`"}]}
    assert held_lines(["SKILL.md"], edit) == "ls"


def test_a_long_text_of_marks_is_read_in_linear_time():
    for text in ("```!" * 200_000, "!`" * 200_000, "` " * 200_000, "!{" * 100_000):
        shell_lines(["x/.gemini/commands/x.toml"], text)
