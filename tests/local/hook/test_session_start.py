"""`baton hook` measures the same as the POSIX shim."""

import subprocess
from pathlib import Path

from baton.local.hook.clients import settings_file
from baton.local.hook.session_start import digests
from tests.support.cases import every

HOOKS = Path(__file__).parents[3] / "hooks"
FILES = {
    "claude-code": """{"hooks": {"Stop": [{"hooks": [{"command": "test ! -f \\"$HOME/x/baton-hook.sh\\" || sh \\"$HOME/x/baton-hook.sh\\" claude-code Stop block"}]}],
        "PreToolUse": [{"hooks": [{"command": "baton hook claude-code PreToolUse"}]}]},
        "disableAllHooks" : true}""",
    "codex": """{"hooks": {"Stop": [{"command": "& 'C:/Program Files/b/baton.exe' hook codex Stop"}]}}""",
    "copilot-cli": '{"powershell": "x -File \'C:/a/baton-hook.ps1\' copilot-cli preToolUse", "disableAllHooks": false}',
    "opencode": "const HOOKS = {}\nbaton hook opencode Stop\n",
}


@every("client", FILES)
@every("there", [True, False])
def test_its_checksums_are_those_of_the_shim(client, there, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    settings = Path(settings_file(client, env, str(tmp_path)))
    if there:
        settings.parent.mkdir(parents=True)
        settings.write_text(FILES[client])
    names = [str(HOOKS / "baton-hook.sh"), str(tmp_path / "missing")]
    code = 'whole=1; . "$1"; measure "$2" "$3" "$4"; printf %s "$digests"'
    said = subprocess.run(
        ["sh", "-c", code, "sh", str(HOOKS / "baton-lib.sh"), client, *names],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = digests(client, *names, str(settings))
    assert found == said
    assert len(found.split(",")) == 4
