"""Whether this process was started by an agent that works on a job."""

import os


def is_delegated() -> bool:
    """Return whether an agent that works on a job started this process; what it delegates must not wait for its folder.

    It may work in place and wait for what it delegates. With tokens the server knows it too, by the agent's own.
    """
    return bool(os.environ.get("BATON_JOB"))
