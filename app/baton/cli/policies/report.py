"""`baton report` and `baton reports`: say that a decision was wrong, and read or give the answer. It changes no policy."""

from typing import Annotated, Literal
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
reports = group("List and answer reports of wrong decisions.")


def report(
    decision_id: Annotated[str, typer.Argument(help="The decision's id, as `baton decisions` lists it.")],
    comment: Annotated[str, typer.Option(help="Why it was wrong.")] = "",
    as_json: AsJson = False,
) -> None:
    """Report a decision as wrong.

    The leads of your team see the report.
    """
    made = Api().request("POST", "/reports", body={"decision_id": decision_id, "comment": comment})
    if as_json:
        show_json(made)
        return
    print(f"Reported as {made['id']}: {made['rule'] or 'no rule had matched'}.")
    print("Follow it with: baton reports")


@reports.callback(invoke_without_command=True)
def listed(
    context: typer.Context,
    rule: Annotated[str, typer.Option(help="Only of this rule.")] = "",
    state: Annotated[Literal["", "open", "accepted", "declined"], typer.Option(help="Only in this state.")] = "",
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's, on a server without tokens.")] = False,
    as_json: AsJson = False,
) -> None:
    """List and answer reports of wrong decisions."""
    if context.invoked_subcommand:
        return
    query = {name: value for name, value in (("rule", rule), ("state", state)) if value}
    items = Api(administer=everybody).pages("/reports", query)
    if as_json:
        show_json(items)
        return
    if not items:
        print("No reports.")
    for one in items:
        print(f"{one['id']}  {one['state']:<9} {one['rule'] or '-'}  by {one['user']}: {one['comment'] or '-'}")
        if one["answer"]:
            print(f"  {one['resolved_by']}: {one['answer']}")


@reports.command()
def answer(
    report_id: Annotated[str, typer.Argument(help="The report.")],
    state: Annotated[Literal["open", "accepted", "declined"], typer.Argument(help="What becomes of it.")],
    text: Annotated[str, typer.Option("--answer", help="What its developer reads.")] = "",
    as_json: AsJson = False,
) -> None:
    """Accept or decline a report, or open it again."""
    api, path = Api(administer=True), f"/reports/{quote(report_id, safe='')}"
    version = api.request("GET", path)["version"]
    body = {"state": state, "answer": text}
    answered = api.request("PUT", path, body=body, headers={"If-Match": f'"{version}"'})
    if as_json:
        show_json(answered)
        return
    print(f"Report {report_id} is {answered['state']}.")
