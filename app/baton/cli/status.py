"""`baton status`: the server at a glance."""

from datetime import UTC, datetime
from typing import Any

from baton.cli.options import AsJson
from baton.cli.output import plain, show_json
from baton.local.server import Api

_UNKNOWN = "not known while the database is down"
_DISOBEYED = {
    "ran_anyway": "ran {} calls that were refused",
    "rewrite_ignored": "ran {} calls without what a policy had changed",
}
_UP = {True: "up", False: "down", None: "not checked yet"}


def status(as_json: AsJson = False) -> None:
    """Show the server, its dependencies, clients and runners."""
    api = Api()
    answer = api.request("GET", "/status")
    if as_json:
        show_json(answer)
        return
    print(f"Baton {answer['version']} at {api.config.url}: {answer['status']}, for {_ago(answer['started_at'])}")
    print(f"  redis {answer['redis']}, database {answer['database']}")
    print(f"  policy revision {answer['policy_revision']}, active for {_ago(answer['policy_loaded_at'])}")
    for problem in answer["policy_problems"]:
        print(plain(f"  ! a newer policy set was refused: {problem['file']}:{problem['line']}: {problem['text']}"))
    for one in answer["policy_unlocks"]:
        whom = f"team {one['team']}" if one["team"] else one["user"] or "everybody"
        print(
            plain(
                f"  ! {one['rule']} is unlocked for {whom} until {one['until']} by {one['created_by']}: {one['reason']}"
            )
        )
    decisions = answer.get("decisions")  # absent while SQL cannot be read
    _counts("decisions", decisions, _UNKNOWN if decisions is None else "none yet")
    _counts("records", answer["records"], "none")
    _outage(answer["records"])
    degraded = dict(answer["degraded"])
    changed = degraded.pop("installation", 0)
    unannounced = degraded.pop("agent_model", 0)
    _counts("decided without", degraded, "nothing was missing")
    if unannounced:
        print(
            f"  ! {unannounced} agents started unseen, as by a workflow, on their caller's model instead of their roster's"
        )
    if changed:
        print(
            f"  ! {changed} sessions started with hook files that differ from what was installed: `baton hooks status`"
        )
    _counts("hook calls answered without a decision", answer["hook_failures"], "none")
    for key, count in sorted(answer["disobeyed"].items()):
        client, version, outcome = key.split(" ")
        print(
            plain(f"  ! {client} {version} {_DISOBEYED[outcome].format(count)}: `baton decisions --outcome {outcome}`")
        )
    for proposal in answer["context_proposals"]:
        print(plain(f"  ! {proposal}"))
    for who, count in sorted(answer["refused"].items()):
        print(plain(f"  ! {count} hook calls with a refused token: {who}"))
    _models(answer)
    _callers(answer)


def _outage(records: dict[str, int]) -> None:
    """Show that records wait for the database on disk, or are lost."""
    if most := records.get("spool_most_mb"):
        used = records["spool_mb"]
        print(f"  ! {used} of {most} MB of records wait on disk, because the database is away or was: see its log")
    if shed := records.get("shed"):
        print(
            f"  ! {shed} records were dropped, because Redis and the disk hold as many as they may: mend the database"
        )


def _models(answer: dict[str, Any]) -> None:
    """Show what routing lacks, the model that it asks, and the models that it leaves alone now."""
    if answer.get("word_table") == "missing":
        print("  ! the table of word vectors is missing: prompts are routed by words alone; install `wordllama`")
    if model := answer.get("model"):
        detail = f", {model['detail']}" if model["detail"] else ""
        print(plain(f"  model at {model['url']}: {_UP[model.get('up')]}{detail}"))
    for one in answer["breakers"]:
        if not one["allows"]:
            why = "held open by a person" if one["held"] else one["cause"] or "people disagree with its choices"
            print(plain(f"  ! `{one['name']}` is not asked: {why}"))


def _callers(answer: dict[str, Any]) -> None:
    """Show who calls the server: clients, tokens, runners."""
    if answer["database"] == "down":
        print(f"  clients, tokens, runners: {_UNKNOWN}")
    elif not answer["clients"]:
        print("  clients: none yet; `baton hooks install` connects one")
    for client in answer["clients"]:
        who = f"{client['client']} of {client['user']}"
        if seen := client.get("last_seen"):
            print(f"  client {who}: last seen {_ago(seen)} ago")
        else:
            ago = _ago(client["installed_at"])
            print(
                f"  ! hooks of {who}: installed {ago} ago, never heard of: start a session, or run `baton doctor` there"
            )
        if client["silent"]:
            print(f"  ! {client['user']} is at work, but {client['client']} is silent: run `baton doctor` there")
    for token in answer["tokens"]:
        used = f"last used {_ago(token['last_used_at'])} ago" if token.get("last_used_at") else "never used"
        print(f"  token {token['id']} of {token['user']} ({token['role']}): {used}")
    for one in answer["runners"]:
        jobs = f"{one['active']} jobs, {one['slots']} free"
        print(f"  runner {one['id']} of {one['user']}: {jobs}, last seen {_ago(one['last_seen'])} ago")


def _counts(title: str, counts: dict[str, Any] | None, none: str) -> None:
    text = ", ".join(f"{name} {count}" for name, count in sorted((counts or {}).items()))
    print(f"  {title}: {text or none}")


def _ago(moment: str) -> str:
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
