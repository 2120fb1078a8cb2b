"""`baton request` and `baton exceptions`: ask for an exception from a rule; list, grant and revoke exceptions."""

from typing import Annotated, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, from_now, path_of
from baton.cli.output import plain, show_json, show_table
from baton.cli.policies.replay import show_change
from baton.local.server import Api

app = group("List, grant and revoke exceptions from rules.")
ExceptionId = Annotated[str, typer.Argument(help="The exception, as `baton exceptions list` shows it.")]


def request(
    decision_id: Annotated[str, typer.Argument(help="The refusal's decision, as the refusal names it.")],
    reason: Annotated[str, typer.Option(help="Why the call is needed.")],
    as_json: AsJson = False,
) -> None:
    """Ask for an exception from the rule that stopped a call."""
    made = Api().request("POST", "/exceptions", body={"decision_id": decision_id, "reason": reason})
    if as_json:
        show_json(made)
        return
    print(plain(f"Requested an exception from {made['rule']} for `{made['shape']}`."))
    print(f"Who may grant it runs: baton exceptions grant {made['id']} --for 8h")


@app.command("list")
def list_(
    state: Annotated[Literal["requested", "granted", "used"] | None, typer.Option(help="Only in this state.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the requests and the exceptions in force, each with the stopped call."""
    found = Api(administer=True).pages("/exceptions", {"state": state} if state else {})
    if as_json:
        show_json(found)
        return
    columns = ("id", "state", "scope", "rule", "user", "shown", "shape", "expires_at", "reason")
    rows = [[one[name] for name in columns] for one in found]
    show_table((*columns[:5], "call", "shape", "until", "reason"), rows, none="No exceptions.")


@app.command()
def grant(
    exception_id: ExceptionId,
    scope: Annotated[
        Literal["once", "session", "project", "user", "team"],
        typer.Option(
            help="once: this call. Else calls of its shape in its session or project, or by its user or team."
        ),
    ] = "once",
    span: Annotated[str, typer.Option("--for", metavar="SPAN", help="How long: 30m, 8h, 90d at most.")] = "8h",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Grant a request. It takes the right to write the rule, or to be an approver named by it."""
    body = {"scope": scope, "until": from_now(span), "reason": reason}
    made = Api(administer=True).request("POST", path_of("exceptions", exception_id, "grant"), body=body)
    if as_json:
        show_json(made)
        return
    what = f"the call `{made['shown']}`" if scope == "once" else f"`{made['shape']}`"
    print(plain(f"{made['rule']} does not stop {what} of {made['user']} ({scope}) until {made['expires_at']}."))
    print(f"End it with: baton exceptions revoke {made['id']}")


@app.command()
def revoke(exception_id: ExceptionId, reason: Reason = "", as_json: AsJson = False) -> None:
    """End an exception before its time, or refuse or withdraw a request."""
    query = {"reason": reason} if reason else {}
    Api(administer=True).request("DELETE", path_of("exceptions", exception_id), query=query)
    if as_json:
        show_json({"revoked": exception_id})
        return
    print(f"Exception {exception_id} has ended.")


@app.command()
def proposals(
    file: Annotated[int, typer.Option(min=0, help="Print the rule's file of this proposal.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Propose changes of rules: one for each shape granted three times, with its replay."""
    found = Api(administer=True).request("GET", "/exceptions/proposals")
    if as_json:
        show_json(found)
    elif file > len(found):
        raise UsageError(f"there are {len(found)} proposals; run `baton exceptions proposals`")
    elif file:
        print("\n".join(map(plain, found[file - 1]["change"]["text"].splitlines())))
    elif not found:
        print("No shape has been granted three times.")
    for number, one in enumerate([] if as_json or file else found, 1):
        change = one["change"]
        print(
            plain(f"{change['rule']}: `{change['shape']}` was granted {one['grants']} times, such as: {change['call']}")
        )
        show_change(change, f"baton exceptions proposals --file {number}")
