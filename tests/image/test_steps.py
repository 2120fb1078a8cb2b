"""The Dockerfile's Python part, step by step in a clean folder, to test the image's build without an engine."""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from baton.shared.environment import CLIENT_VARIABLES, SERVER_VARIABLES
from tests.support.server import until

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose.yaml"


def steps():
    """Return the Dockerfile's instructions as (stage, word, rest)."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    stage = -1
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        yield stage, word, rest.strip()


def in_context(path):
    """Return whether .dockerignore lets a path of the checkout into the build."""
    lines = (ROOT / ".dockerignore").read_text().split()
    parts = [*Path(path).parents, Path(path)]
    allowed = any(str(part) in {line[1:] for line in lines if line[0] == "!"} for part in parts)
    refused = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    return allowed and not any(fnmatch.fnmatch(part.name, line) for part in parts for line in refused)


def copy(source, target, folder):
    """Copy what COPY would: the tracked and new files of the checkout that the context holds."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", source],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    names = [name for name in names if in_context(name) and (ROOT / name).is_file()]
    assert names, f"the build context holds no `{source}`"
    for name in names:
        inside = Path(name).relative_to(source) if (ROOT / source).is_dir() else Path()
        to = folder / target / Path(source).name if target in {"./", "."} else folder / target
        (to / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / inside)


def test_base_images_are_pinned_and_the_server_is_unprivileged():
    bases = [rest.split()[0] for _, word, rest in steps() if word == "FROM"]
    assert bases
    assert all(re.search(r":\d+\.\d+\.\d+-[a-z]+-[a-z]+$", base) for base in bases), bases
    images = re.findall(r"^    image: (\S+)$", COMPOSE.read_text(), re.MULTILINE)
    assert all(re.search(r":\d+\.\d+(\.\d+)?-[a-z]+$", image) for image in images), images
    words = {word: rest for _, word, rest in steps()}
    assert words["USER"].isdigit()
    assert words["USER"] != "0"
    assert "HEALTHCHECK" in words
    baton = yaml.safe_load(COMPOSE.read_text())["services"]["baton-1"]
    assert baton["read_only"] is True
    assert baton["cap_drop"] == ["ALL"]
    assert {name for name in baton["environment"] if name.startswith("BATON_")} <= SERVER_VARIABLES | CLIENT_VARIABLES


def test_copied_files_exist_in_the_build_context():
    for _, word, rest in steps():
        if word == "COPY" and not rest.startswith("--from"):
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists()
                assert in_context(source), f"`.dockerignore` keeps `{source}` out"
    assert not in_context(".git/config")
    assert not in_context("deploy/.env")
    assert not in_context("tests/conftest.py")


@pytest.mark.image
def test_the_steps_make_a_server_that_is_healthy(tmp_path):
    build, prefix, data = tmp_path / "build", tmp_path / "opt" / "baton", tmp_path / "data"
    build.mkdir()
    for stage, word, rest in steps():
        if stage != 0:
            continue
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                copy(source, target, build)
        elif word == "RUN":
            command = rest.replace("/opt/baton", shlex.quote(str(prefix))).replace("--no-cache-dir ", "")
            env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PIP_NO_COMPILE": "1"}
            env["PATH"] = f"{Path(sys.executable).resolve().parent}:{env['PATH']}"
            done = subprocess.run(
                ["sh", "-ec", command], cwd=build, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"RUN {rest}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    shutil.rmtree(build)
    shutil.copyfile(ROOT / "deploy" / "healthy.py", prefix / "healthy.py")
    env = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "BATON_HOME": str(data), "PORT": "0"}
    started = subprocess.Popen([prefix / "bin" / "baton", "serve"], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)
    try:
        note = until(lambda: (data / "server.json").is_file() and (data / "server.json").read_text(), 30)
        port = re.search(r":(\d+)\"", note)[1]
        healthy = [prefix / "bin" / "python", prefix / "healthy.py"]
        assert subprocess.run(healthy, env=env | {"PORT": port}, check=False).returncode == 0
        checked = subprocess.run([prefix / "bin" / "baton", "db", "check"], env=env, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr
    finally:
        started.terminate()
        started.wait(30)
    assert subprocess.run(healthy, env=env | {"PORT": port}, capture_output=True, check=False).returncode != 0
