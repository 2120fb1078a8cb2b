"""`baton report` and `baton policy reports`: report a wrong decision; read and answer the reports."""

from typing import Annotated, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Everybody, path_of
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api

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
    end_with_json(made, when=as_json)
    print(f"Reported as {made['id']}: {made['rule'] or 'no rule had matched'}.")
    print("Follow it with: baton policy reports")


@reports.callback(invoke_without_command=True, no_args_is_help=False)
def list_reports(
    context: typer.Context,
    rule: Annotated[str, typer.Option(help="Only of this rule.")] = "",
    state: Annotated[Literal["open", "accepted", "declined"] | None, typer.Option(help="Only in this state.")] = None,
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """List and answer reports of wrong decisions.

    Without a command it lists your own reports, and those of your team if you lead it, the newest first.
    """
    if context.invoked_subcommand:
        return
    found = Api(administer=everybody).pages("/reports", {"rule": rule, "state": state or ""})
    end_with_json(found, when=as_json)
    rows = [
        (one["id"], one["state"], one["rule"], one["user"], one["comment"], one["answer"], one.get("resolved_by") or "")
        for one in found
    ]
    show_table(("id", "state", "rule", "user", "comment", "answer", "answered by"), rows, none="No reports.")


@reports.command()
def answer(
    report_id: Annotated[str, typer.Argument(help="The report.")],
    state: Annotated[Literal["open", "accepted", "declined"], typer.Argument(help="Its new state.")],
    text: Annotated[str, typer.Option("--answer", help="Message to its author.")] = "",
    as_json: AsJson = False,
) -> None:
    """Accept or decline a report, or open it again."""
    api, path = Api(administer=True), path_of("reports", report_id)
    version = api.request("GET", path)["version"]
    body = {"state": state, "answer": text}
    answered = api.request("PUT", path, body=body, headers={"If-Match": f'"{version}"'})
    end_with_json(answered, when=as_json)
    print(f"Report {report_id} is {answered['state']}.")
