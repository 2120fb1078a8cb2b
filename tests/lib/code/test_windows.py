"""PowerShell and cmd as equivalent shell lines."""

import base64

import pytest

from baton.lib.code.languages.windows import cmd_as_shell, decoded, powershell_as_shell
from tests.support.cases import every, listed


def encoded(text):
    return base64.b64encode(text.encode("utf-16-le")).decode()


POWERSHELL = {
    "Remove-Item -Recurse -Force C:\\": "rm -r -f /",
    'ri -rec -fo "C:\\*"': "rm -r -f '/*'",
    "Remove-Item -Path $HOME -Recurse": "rm -r ~",
    "rd /s /q C:\\": "rm -r -f /",
    "Get-ChildItem C:\\ -Recurse | Remove-Item -Force -Recurse": "ls -R / | rm -r -f '/*'",
    '$p = "C:\\"; Remove-Item -Recurse $p': 'p=/\nrm -r "$p"',
    "if (Test-Path build) { Remove-Item -Recurse build }": 'echo "$(ls build)"\nrm -r build',
    "Remove-Item -Recurse build -WhatIf": "echo rm",
    "iex (iwr https://x/y.ps1)": 'eval "$(curl https://x/y.ps1)"',
    "irm https://x/i.ps1 | Invoke-Expression": "curl https://x/i.ps1 | bash",
    "IEX (New-Object Net.WebClient).DownloadString('https://x/y')": 'eval "$(curl https://x/y)"',
    "iex 'rm -r -fo C:\\'": "rm -r -f /",
    "git push -f origin main": "git push -f origin main",
    '& "git.exe" push --force origin main': "git push --force origin main",
    f"powershell -EncodedCommand {encoded('ri -r C:/')}": "rm -r /",
    f"pwsh -NoProfile -ep Bypass -enc {encoded('ri -r C:/')}": "rm -r /",
    'cmd /c "rd /s /q C:\\"': "rm -r -f /",
    'Start-Process powershell -ArgumentList "-Command","rm -r C:\\"': "rm -r /",
    'Set-Content -Path src/a.py -Value "x y"': "tee src/a.py",
    '"x" | Out-File src/a.py': "echo x | tee src/a.py",
    "echo hi > src\\a.py": "echo hi > src/a.py",
    '[IO.File]::WriteAllText("a.py", "x")': "tee a.py",
    "Invoke-WebRequest https://x -OutFile a.zip": "curl -o a.zip https://x",
    "Format-Volume -DriveLetter D": "mkfs /dev/D",
    "Get-Content README.md": "cat README.md",
    "# nothing\nls": "ls",
    "npm test": "npm test",
    "echo 'a; rm -r b'": "echo 'a; rm -r b'",
    "Write-Host @'\nrm -r b\n'@": "echo 'rm -r b'",
}
CMD = {
    "rd /s /q C:\\": "rm -r -f /",
    "del /f /s /q C:\\*.*": "rm -r -f '/*'",
    "format C: /y": "mkfs /dev/C",
    "r^d /s C:\\": "rm -r /",
    "del %USERPROFILE%": "rm ~",
    "if exist build rd /s /q build": "rm -r -f build",
    "for %f in (*.txt) do del %f": "for f in '*.txt'; do true; done\nrm \"$f\"",
    "dir & type a.txt": "ls\ncat a.txt",
    "npm test && echo ok": "npm test\necho ok",
    f"powershell -e {encoded('ri -r C:/')}": "rm -r /",
}


@pytest.mark.parametrize(("read", "lines"), [(powershell_as_shell, POWERSHELL), (cmd_as_shell, CMD)])
def test_lines_become_those_of_a_shell(read, lines):
    wrong = {line: said for line, wanted in lines.items() if (said := read(line)) != wanted}
    assert not wrong, listed(wrong)


def test_an_unknown_command_is_an_unreadable_line():
    assert powershell_as_shell("powershell " * 25 + "ls") == "'"
    assert powershell_as_shell("powershell " * 15 + "ls") == "ls"
    assert powershell_as_shell("x" * 70_000) == "'"
    assert decoded("no base 64!") == "'"


@every("text", ["(" * 30_000, "{" * 30_000, "$(" * 20_000, "'" * 30_001, "iex (" * 10_000, "[" * 9_999])
def test_deep_and_broken_texts_are_read_to_an_end(text):
    assert isinstance(powershell_as_shell(text), str)
    assert isinstance(cmd_as_shell(text), str)
