"""Gives the demonstration a week behind it, where the server's database is a file that this person may write."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from baton.local.server import Api, ApiError
from baton.shared.person_socket import LOOPBACK

BY_HAND = "`baton db demo-history` on the server's machine, with its settings, adds a week before today"
_DATABASE, _HOME, _ORGANISATION = "BATON_DATABASE_URL", "BATON_HOME", "BATON_ORGANISATION"
_LONGEST_S = 120


def add_past(admin: Api) -> str:
    """Run `baton db demo-history` for the server's own home folder; return why it could not be done, "" if it was.

    The API has no way to do it: whoever could post a decision of the past could post one that never was.
    """
    try:
        items = admin.request("GET", "/status/settings")["items"]
    except ApiError:
        return BY_HAND
    settings = {one["name"]: one for one in items}
    home = Path(settings[_HOME]["value"])
    is_here = urlsplit(admin.config.url).hostname in LOOPBACK and (home / "baton.db").is_file()
    if not is_here or not settings[_DATABASE]["is_default"] or not os.access(home, os.W_OK):
        return BY_HAND
    env = {name: value for name, value in os.environ.items() if name != _DATABASE}
    env |= {_HOME: str(home), _ORGANISATION: settings[_ORGANISATION]["value"]}
    command = [sys.executable, "-m", "baton", "db", "demo-history"]
    try:
        done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=_LONGEST_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{BY_HAND} ({error})"
    return f"{BY_HAND} ({done.stderr.strip()})" if done.returncode else ""
