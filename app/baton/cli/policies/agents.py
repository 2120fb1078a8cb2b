"""`baton agents`: which agents Baton knows that your clients have."""

from baton.cli.options import AsJson
from baton.cli.output import plain, show_json
from baton.local.server import Api

_NONE = "No agents are known: none has a file where a client looks for it, or no session has started since."


def agents(as_json: AsJson = False) -> None:
    """List the agents of your clients, as their sessions told at their start."""
    found = Api().request("GET", "/inventory")
    if as_json:
        show_json(found)
        return
    for one in found:
        print(plain(f"{one['client']} in {one['project']}"))
        for agent in one["agents"]:
            model = f"its file says `model: {agent['model']}`" if "model" in agent else "its file names no model"
            print(plain(f"  {agent['name']} ({agent['source']}): {model}"))
    if not found:
        print(_NONE)
