from baton.rules.call.edited_files import LOOKED_AT, MASK, without_content
from tests.support.cases import every

CONTENT = "first line\n$(second) `line`\n"
TAKEN = [
    "cat > a.py <<'EOF'",
    'cat <<"EOF" > a.py',
    "cat <<EOF >> a.py",
    "cd x && cat <<-\\EOF >a.py || exit 1",
    "sudo tee /etc/x <<EOF >/dev/null",
    "cat <<EOF | tee a.py",
    "git apply <<'EOF'",
    "patch -p1 << EOF",
]
LEFT = ["bash <<EOF", "python3 - <<'EOF'", "git commit -m \"$(cat <<'EOF'", "cat <<EOF | bash > log", "cat <<< EOF > x"]


@every("line", TAKEN)
def test_the_content_of_a_here_document_is_removed(line):
    command = f"ls\n{line}\n{CONTENT}EOF\nmake"
    assert without_content(command) == f"ls\n{line}\n{MASK}\nEOF\nmake"


@every("line", LEFT)
def test_scripts_and_messages_stay(line):
    command = f"{line}\n{CONTENT}EOF\n"
    assert without_content(command) == command


def test_two_here_documents_belong_to_their_lines():
    command = f"cat > a <<A\n{CONTENT}A\nbash <<B\nls\nB\ncat > c <<C\n{CONTENT}C\n"
    assert without_content(command) == f"cat > a <<A\n{MASK}\nA\nbash <<B\nls\nB\ncat > c <<C\n{MASK}\nC\n"


def test_a_patch_is_content_with_all_that_follows():
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\nmake"
    assert without_content("apply_patch <<EOF\n" + patch) == "apply_patch <<EOF\n"


def test_a_document_that_does_not_end_is_taken_out_whole():
    assert without_content("cat > a <<EOF\n" + CONTENT * LOOKED_AT) == f"cat > a <<EOF\n{MASK}"
