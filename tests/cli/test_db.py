import re
from pathlib import Path
from unittest.mock import patch

import aiosqlite
import pytest

from baton.kernel.base.settings import Settings
from baton.operate import migrate
from tests.support.command_line import clean_environment, run


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return request.getfixturevalue("new_postgres")()


def baton(*arguments, agent="", **env):
    """Run `baton db …` as a person, or as whom `agent` makes it: the suite itself may run below an agent."""
    with patch("baton.shared.agent_process.agent_above", lambda _: agent):
        return run("db", *arguments, env=clean_environment(**env), cwd=Path.cwd())


def test_a_schema_is_checked_upgraded_and_taken_back(url, tmp_path):
    before = baton("check", BATON_DATABASE_URL=url)
    assert before.returncode == 1
    assert "0032: " in before.stdout
    assert not (tmp_path / "empty.db").exists(), "a check creates nothing"
    assert baton("upgrade", BATON_DATABASE_URL=url).returncode == 0
    assert baton("check", BATON_DATABASE_URL=url).returncode == 0
    assert baton("downgrade", "base", BATON_DATABASE_URL=url).returncode == 2, "not without --yes"
    assert baton("downgrade", "base", "--yes", BATON_DATABASE_URL=url).returncode == 0
    behind = baton("check", BATON_DATABASE_URL=url)
    assert behind.returncode == 1
    assert "0032: " in behind.stdout


def test_a_lost_admin_token_is_replaced_on_the_machine(sqlite_url):
    made = baton("admin-token", "--user", "ops", BATON_DATABASE_URL=sqlite_url)
    assert made.returncode == 0, made.stderr
    said, text = made.stdout.splitlines()
    assert re.fullmatch(r"baton_[0-9a-f]{12}_[0-9a-f]{64}", text)
    assert said.startswith("An admin token for ops, until ")


def test_an_agent_makes_itself_no_token(sqlite_url):
    refused = baton("admin-token", BATON_DATABASE_URL=sqlite_url, agent="it descends from `claude` (process 7)")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "it descends from `claude` (process 7)" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "code", "words"),
    [
        (("downgrade", "0815", "--yes"), {}, 1, "known revisions: `0032`"),
        (("check",), {"BATON_DATABASE_URL": "mysql://x/y"}, 2, "`BATON_DATABASE_URL` is not valid"),
        (("check",), {"BATON_DATABASE_URL": "postgresql://u:s3cretpass@127.0.0.1:1/x"}, 1, "baton: "),
        (("admin-token",), {}, 1, "`baton db check`"),
        (("admin-token", "--expires", "soon"), {}, 2, "`soon` is not a time span"),
        (("check",), {"PORT": "many"}, 2, "`PORT` is `many`"),
    ],
)
def test_an_error_is_one_line(arguments, env, code, words, tmp_path):
    done = baton(*arguments, **({"BATON_HOME": str(tmp_path)} | env))
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "s3cretpass" not in done.stderr


async def test_a_database_of_a_newer_baton_is_refused_in_words(sqlite_url):
    async with aiosqlite.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")
        await connection.commit()
    for work in (migrate.upgrade, migrate.missing):
        with pytest.raises(ValueError, match=r"does not belong to this version of Baton.*9999"):
            await work(Settings(database_url=sqlite_url))


def test_only_a_person_dates_a_demonstration_back_and_only_where_there_is_one(sqlite_url):
    refused = baton("demo-history", agent="it runs below an agent", BATON_DATABASE_URL=sqlite_url)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "it runs below an agent" in refused.stderr
    empty = baton("demo-history", BATON_DATABASE_URL=sqlite_url)
    assert empty.returncode == 1
    assert "`baton demo` plays one" in empty.stderr
