"""`baton token`: makes, lists and revokes the tokens of this organisation. It stores none on this machine."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api, ApiError

app = group("Create, list and revoke access tokens.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the audit log.")]
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@app.command()
def create(
    user: Annotated[str, typer.Option(help="Whom it speaks for.")],
    role: Annotated[
        Literal["developer", "lead", "admin", "runner", "auditor"], typer.Option(help="What they may do.")
    ] = "developer",
    team: Annotated[str, typer.Option(help="The team of a user who is not known yet; yours without it.")] = "",
    expires: Annotated[str, typer.Option(help="From when it is refused: 90d, 12h, 30min; never without it.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Make a token and show it, this once."""
    body = {"user": user, "role": role, "team": team, "expires_at": moment(expires), "reason": reason}
    made = Api().request("POST", "/tokens", body={name: value for name, value in body.items() if value})
    if as_json:
        show_json(made)
        return
    token = made["token"]
    until = f"until {token['expires_at']}" if token.get("expires_at") else "until it is revoked"
    print(f"Token {token['id']} speaks for {token['user']} as {token['role']}, {until}. It is shown this once:")
    print(made["text"])


@app.command("list")
def list_(
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the tokens that you may see, and when each was last used."""
    tokens = Api().pages("/tokens", {"user": user})
    if as_json:
        show_json(tokens)
        return
    for token in tokens:
        state = (
            "revoked" if token.get("revoked_at") else f"until {token['expires_at']}" if token.get("expires_at") else ""
        )
        used = f"last used {token['last_used_at']}" if token.get("last_used_at") else "never used"
        print(f"{token['id']}  {token['user']:<20} {token['role']:<10} {used}{'; ' if state else ''}{state}")
    if not tokens:
        print("no tokens")


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="The token's id, as `baton token list` shows it.")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Have a token refused from now on."""
    Api().request("DELETE", f"/tokens/{token_id}", query={"reason": reason})
    if as_json:
        show_json({"revoked": token_id})
        return
    print(f"Token {token_id} is refused from now on.")


def moment(expires: str) -> str:
    """Say when `90d`, `12h` or `30min` from now is, as RFC 3339; "" for "". Raises ApiError for anything else."""
    if not expires:
        return ""
    found = re.fullmatch(r"([1-9][0-9]{0,5})(min|h|d)", expires)
    if found is None:
        raise ApiError(f"`{expires}` is not a time; allowed: a number with `min`, `h` or `d`, as in `90d`")
    return (datetime.now(UTC) + int(found[1]) * _UNITS[found[2]]).isoformat()
