"""The entry of `baton`. `baton hook` runs before every tool call of an agent, so it starts without the rest."""

import sys


def main() -> None:
    """Run `baton` with the process's own words."""
    if sys.argv[1:2] == ["hook"]:
        from baton.local.hook.main import main as hook

        sys.exit(hook(sys.argv[2:]))
    from baton.cli.app import run

    run()
