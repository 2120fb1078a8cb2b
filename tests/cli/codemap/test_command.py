"""`baton codemap` as a person runs it, against a real server: removed, kept and changed files."""

import json
import subprocess

import pytest

from baton.cli.codemap.command import VALUES_AT_ONCE
from baton.cli.codemap.files import batches
from baton.shared.code_map import MOST_AT_ONCE, MOST_FILES, MOST_MENTIONS, MOST_SYMBOLS, Outline, Symbol
from tests.support.command_line import clean_environment, run


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "cart.py").write_text("class Cart:\n    def add(self): ...\n")
    (root / "src" / "secret_part.py").write_text("class Hidden: ...\n")
    (root / ".gitignore").write_text("src/secret_part.py\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (tmp_path / "outside.py").write_text("class Outside: ...\n")
    return root


@pytest.fixture
def baton(server, tmp_path, shop, session):
    env = clean_environment(
        HOME=str(tmp_path), BATON_URL=server.url, BATON_PROJECT=f"shop-{session}", BATON_USER=f"ann-{session}"
    )
    return lambda *words: run("codemap", *words, env=env, cwd=shop)


def pushed(baton):
    answer = baton("push", "--json")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("repository", [True, False])
def test_a_map_is_pushed_shown_and_dropped_without_ignored_files(baton, shop, repository):
    if repository:
        subprocess.run(["git", "init", "-q", "."], cwd=shop, check=True)
    names = [one["path"] for one in json.loads(baton("push", "--dry-run").stdout)]
    assert names == ["src/cart.py"]
    assert "no code maps" in baton("show").stdout.lower()

    first = pushed(baton)
    assert (first["files"], first["symbols"], first["sent"], first["left_out"]) == (1, 2, 1, 0)
    assert pushed(baton)["sent"] == 0

    (shop / "src" / "tax.py").write_text("def rate(): ...\n")
    assert (pushed(baton)["sent"], json.loads(baton("show", "--json").stdout)[0]["files"]) == (1, 2)
    (shop / "src" / "cart.py").unlink()
    assert (pushed(baton)["sent"], json.loads(baton("show", "--json").stdout)[0]["files"]) == (0, 1)

    assert "was removed" in baton("drop").stdout
    assert "you have no code map" in baton("drop").stderr


def test_a_large_project_is_sent_in_several_requests(server):
    names = tuple(f"name_{n}" for n in range(MOST_MENTIONS))
    symbols = tuple(Symbol(f"symbol_{n}", "function", n + 1, "Holder") for n in range(MOST_SYMBOLS))
    found = [Outline(path=f"src/{n}.py", language="python", symbols=symbols, mentions=names) for n in range(400)]
    split = list(batches(found, MOST_AT_ONCE, VALUES_AT_ONCE))
    assert [one for batch in split for one in batch] == found
    with server.client(**{"Baton-User": "large", "Baton-Project": "large"}) as http:
        manifest = {"files": {f"src/{n}.py": "d" * 24 for n in range(MOST_FILES)}}
        assert len(http.put("/codemap", json=manifest).json()["missing"]) == MOST_FILES
        body = [
            {
                "path": one.path,
                "language": one.language,
                "mentions": list(one.mentions),
                "symbols": [{"name": s.name, "kind": s.kind, "line": s.line, "within": s.within} for s in one.symbols],
            }
            for one in split[0]
        ]
        assert http.put("/codemap/files", json={"outlines": body}).status_code == 204
        assert http.delete("/codemap").status_code == 204
