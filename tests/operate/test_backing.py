"""The parts behind a server exist once per folder, wherever Redis and SQL are."""

import pytest

from baton.kernel.base.home import HomeInUse, HomeLock
from baton.kernel.base.settings import Settings
from baton.operate.backing import backing


async def test_a_folder_is_one_server_s_also_with_redis_and_sql_elsewhere(tmp_path, valkey_url, sqlite_url):
    lock = HomeLock(tmp_path / "home")
    lock.acquire()
    settings = Settings(home=tmp_path / "home", redis_url=valkey_url, database_url=sqlite_url, workers=2)
    with pytest.raises(HomeInUse):
        async with backing(settings):
            pass
    lock.release()
