"""`baton token`: create, list and revoke the tokens of this organisation."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Expires, Reason, path_of
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api

app = group("Create, list and revoke access tokens.")


@app.command()
def create(
    user: Annotated[str, typer.Option(help="The user of the token.")],
    role: Annotated[
        Literal["developer", "lead", "admin", "runner", "auditor", "observer", "hook"],
        typer.Option(help="Role of the token."),
    ] = "developer",
    team: Annotated[str, typer.Option(help="The team of a new user. Default: yours.")] = "",
    expires: Expires = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Create a token and show it, this once."""
    body = {"user": user, "role": role, "team": team, "expires_at": expires, "reason": reason}
    made = Api().request("POST", "/tokens", body={name: value for name, value in body.items() if value})
    end_with_json(made, when=as_json)
    token = made["token"]
    team = f" of team {token['team']}" if token.get("team") else ""
    until = f"until {token['expires_at']}" if token.get("expires_at") else "until it is revoked"
    print(f"Token {token['id']} is for {token['user']}{team} as {token['role']}, {until}. It is shown this once:")
    print(made["text"])


@app.command("list")
def list_(user: Annotated[str, typer.Option(help="Only this user's.")] = "", as_json: AsJson = False) -> None:
    """List the tokens visible to you, and each one's last use."""
    tokens = Api().pages("/tokens", {"user": user})
    end_with_json(tokens, when=as_json)
    rows = [
        (one["id"], one["user"], one.get("team", ""), _role(one), _state(one), one.get("last_used_at", "never"))
        for one in tokens
    ]
    show_table(("id", "user", "team", "role", "state", "last used"), rows, none="No tokens.")


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="The token's id, as `baton token list` shows it.")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Revoke a token, from now on."""
    Api().request("DELETE", path_of("tokens", token_id), query={"reason": reason})
    end_with_json({"revoked": token_id}, when=as_json)
    print(f"Token {token_id} is revoked.")


def _role(token: dict[str, Any]) -> str:
    return f"{token['role']} ({token['machine']})" if token.get("machine") else str(token["role"])


def _state(token: dict[str, Any]) -> str:
    if token.get("revoked_at"):
        return "revoked"
    return f"until {token['expires_at']}" if token.get("expires_at") else "active"
