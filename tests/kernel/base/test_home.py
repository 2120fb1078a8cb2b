import os

import pytest

from baton.kernel.base.home import HomeInUse, HomeLock


def test_a_folder_belongs_to_one_server_at_a_time(tmp_path):
    lock = HomeLock(tmp_path / "home")
    assert lock.acquire() == ""
    with pytest.raises(HomeInUse, match=f"another server \\(process {os.getpid()}\\) works in `.*`; .*`BATON_HOME`"):
        HomeLock(tmp_path / "home").acquire()
    lock.release()
    again = HomeLock(tmp_path / "home")
    assert again.acquire() == ""
    again.release()


def test_the_lock_names_a_killed_holder_once(tmp_path):
    (tmp_path / "lock").write_text("4711")
    for before in ("4711", ""):
        lock = HomeLock(tmp_path)
        assert lock.acquire() == before
        lock.release()
