"""`baton demo`: shows what a team that uses Baton looks like, on a server that nobody uses yet."""

import sys
from typing import Annotated

import typer

from baton.cli.demo.machine import Machine
from baton.cli.demo.past import add_past
from baton.cli.demo.play import Demo
from baton.cli.options import AsJson, UsageError
from baton.cli.output import show_json
from baton.local.server import Api


def demo(
    live: Annotated[
        bool | None,
        typer.Option("--live/--once", help="Go on until Ctrl-C, or end when all is there. At a terminal: --live."),
    ] = None,
    every: Annotated[float, typer.Option(min=0.01, help="Seconds between two calls of `--live`.")] = 0.5,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also on a server that has decisions already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fill a fresh server with a demonstration team, so that every screen of the console shows something.

    Teams, people, projects and rules whose names begin with `demo` are added through the public API, and their agents'
    calls are decided like any. Where the server's database is a file on this machine, the last week is filled as well, with
    copies of what was decided now. A runner with a scripted agent works on tasks that are delegated in your name; with
    `--live` it goes on, and one of its questions waits for you. The tokens are revoked at the end.
    """
    admin = Api(administer=True)
    played = Demo(admin, lambda token: Api(token=token))
    note = ""
    if not anyway and not played.is_fresh():
        raise UsageError("this server has decisions already; use a fresh one, or add `--anyway`")
    goes_on = sys.stdout.isatty() and not as_json if live is None else live
    try:
        played.set_up()
        with Machine(played.token_of_runner()):
            played.play()
            played.delegate()
            note = add_past(admin)
            if goes_on:
                print(
                    f"{played.calls} calls were made, and an agent waits for your answer. See it in the console:"
                    " `baton open`. More calls come until Ctrl-C.",
                    file=sys.stderr,
                )
                for _ in played.live(every):
                    pass
    except KeyboardInterrupt:
        pass
    finally:
        played.leave()
    if as_json:
        show_json({"calls": played.calls, "notes": [note] if note else []})
        return
    print(f"{played.calls} calls were made. `baton open` shows them in the console.")
    if note:
        print(f"They are all of now: {note}.")
