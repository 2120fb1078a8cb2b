"""`baton jobs reply|comment`: continues with an ended job's agent, in its thread and its workspace."""

from typing import Annotated, Any

import typer

from baton.cli.jobs.follow import follow as follow_job
from baton.cli.options import AsJson, UsageError, path_of
from baton.cli.output import end_with_json
from baton.local.server import Api

JobId = Annotated[str, typer.Argument(help="The job, or any of its thread.")]
Model = Annotated[str, typer.Option(help="Another model than before.")]
Follow = Annotated[bool, typer.Option("--follow", help="Follow the agent; Ctrl-C cancels it.")]


def reply(
    job_id: JobId,
    message: Annotated[str, typer.Argument(help="Message to the agent.")] = "",
    at: Annotated[str, typer.Option(metavar="FILE:LINE", help="The line of the message.")] = "",
    comment: Annotated[
        list[str] | None,
        typer.Option("--comment", metavar="FILE:LINE TEXT", help="A comment on a line; may be repeated."),
    ] = None,
    model: Model = "",
    follow: Follow = False,
    as_json: AsJson = False,
) -> None:
    """Continue an ended job with its agent, in its thread and its unchanged workspace."""
    comments = [_comment(*_parted(text)) for text in comment or []]
    if at:
        if not message:
            raise UsageError("`--at` requires a message")
        comments, message = [_comment(at, message), *comments], ""
    _send(job_id, {"message": message, "comments": comments, "model": model}, follow=follow, as_json=as_json)


def comment(
    job_id: JobId,
    place: Annotated[str, typer.Argument(metavar="FILE:LINE", help="A line as the job left it.")],
    text: Annotated[str, typer.Argument(help="Message to the agent about this line.")],
    follow: Follow = False,
    as_json: AsJson = False,
) -> None:
    """Send a comment on a line of a job's changes to its agent, to continue in its thread."""
    _send(job_id, {"comments": [_comment(place, text)]}, follow=follow, as_json=as_json)


def _send(job_id: str, body: dict[str, Any], *, follow: bool, as_json: bool) -> None:
    api = Api()
    answer = api.request("POST", path_of("jobs", job_id, "reply"), body=body)
    end_with_json(answer, when=as_json)
    job = answer["job"]
    if follow:
        raise typer.Exit(follow_job(api, job["id"]))
    print(f"Job {job['id']} continues the thread of {job['thread']}; it is {job['state']}.")
    print(f"Follow it with: baton jobs show {job['id']} --follow")


def _parted(text: str) -> tuple[str, str]:
    place, _, said = text.strip().partition(" ")
    return place, said


def _comment(place: str, text: str) -> dict[str, Any]:
    file, _, line = place.rstrip(":").rpartition(":")
    if not file or not line.isascii() or not line.isdigit() or not text.strip():
        raise UsageError(f"`{place}` is not a file and a line with a comment; write it like `src/cart.py:12 …`")
    return {"file": file, "line": int(line), "text": text.strip()}
