"""The text written by a finished call, for each client's tools."""

from baton.rules.call.edited_files import MOST_BYTES, MOST_FILES, EditedText, cut, edited_texts
from tests.support.cases import every

PATCH = """*** Begin Patch
*** Add File: a.py
+import os
+x = 1
*** Update File: src/b.py
@@ def f
-    old
+    new
 same
*** Delete File: c.py
*** End Patch"""


@every(
    ("tool", "given", "written"),
    [
        ("Write", {"file_path": "a.py", "content": "x"}, [EditedText("a.py", "x", whole=True)]),
        ("Write", {"path": "a.py", "file_text": "x"}, [EditedText("a.py", "x", whole=True)]),
        ("Edit", {"file_path": "a.py", "old_string": "o", "new_string": "n"}, [EditedText("a.py", "n", whole=False)]),
        ("Edit", {"path": "a.py", "old_str": "o", "new_str": "n"}, [EditedText("a.py", "n", whole=False)]),
        ("Edit", {"filePath": "a.py", "oldString": "o", "newString": "n"}, [EditedText("a.py", "n", whole=False)]),
        ("StrReplace", {"path": "a.py", "new_string": "n"}, [EditedText("a.py", "n", whole=False)]),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "n"}, [EditedText("a.ipynb", "n", whole=False)]),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"new_string": "1"}, {"old_string": "2"}, 3, {"new_string": "4"}]},
            [EditedText("a.py", "1\n4", whole=False)],
        ),
        (
            "apply_patch",
            {"command": PATCH},
            [EditedText("a.py", "import os\nx = 1", whole=True), EditedText("src/b.py", "    new", whole=False)],
        ),
        (
            "Bash",
            {"command": f"apply_patch <<'E'\n{PATCH}\nE"},
            [EditedText("a.py", "import os\nx = 1", whole=True), EditedText("src/b.py", "    new", whole=False)],
        ),
        ("Bash", {"command": "echo x > a.py"}, []),
        ("Edit", {"file_path": "a.py", "old_string": "o", "new_string": ""}, []),
        ("Edit", {"new_string": "n"}, []),
        ("Edit", {"file_path": 3, "new_string": ["n"]}, []),
        ("Read", {"file_path": "a.py", "content": "x"}, []),
    ],
)
def test_the_written_text_of_each_tool(tool, given, written):
    assert edited_texts(tool, given) == written


@every(
    ("text", "size"),
    [("x" * 32_768, 32_768), ("x" * 32_769, 32_768), ("é" * 16_384, 32_768), ("é" * 16_385, 32_768), ("x" + "é" * 16_384, 32_767)],
)  # fmt: skip
def test_a_text_is_cut_at_a_character_s_border(text, size):
    assert len(cut(text).encode()) == size
    assert text.startswith(cut(text))
    assert cut("\ud800") == "?"


def test_files_and_sizes_are_bounded():
    patch = "*** Begin Patch\n" + "".join(f"*** Add File: {number}\n+x\n" for number in range(1_000))
    assert len(edited_texts("apply_patch", {"command": patch})) == MOST_FILES
    edits = {"file_path": "a", "edits": [{"new_string": "x" * 1_000}] * 1_000}
    assert len(edited_texts("MultiEdit", edits)[0].text) <= MOST_BYTES
