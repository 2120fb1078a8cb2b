"""`baton status`: the server at a glance."""

from datetime import UTC, datetime
from typing import Any

from baton.cli.options import AsJson
from baton.cli.output import end_with_json, plain
from baton.local.server import Api

_UNKNOWN = "not known while the database is down"
_DISOBEYED = {
    "ran_anyway": "ran {} refused calls",
    "rewrite_ignored": "ran {} calls without a policy's changes",
    "changed_by_other": "ran {} calls changed by another hook",
}
_MISSING = {
    "agents": "the session's agents",
    "embeddings": "word vectors",
    "history": "earlier calls",
    "patterns": "patterns",
    "policies": "the newest policies",
    "project": "the session's project",
    "subagents": "running sub-agents",
    "token": "a valid token",
}
"""What decisions were made without, in words."""
_ALARMS = {
    "guardrails_off": "a shipped guardrail is not as shipped",
    "freezes": "frozen",
    "unreached": "nobody was told of request",
}
_UP = {True: "up", False: "down", None: "not checked yet"}


def status(as_json: AsJson = False) -> None:
    """Show the server, its dependencies, clients and runners."""
    api = Api()
    answer = api.request("GET", "/status")
    end_with_json(answer, when=as_json)
    print(f"Baton {answer['version']} at {api.config.url}: {answer['status']}, for {_ago(answer['started_at'])}")
    print(f"  redis {answer['redis']}, database {answer['database']}")
    _stores(answer)
    print(f"  policy revision {answer['policy_revision']}, active for {_ago(answer['policy_loaded_at'])}")
    for problem in answer["policy_problems"]:
        print(plain(f"  ! a newer policy set was refused: {problem['file']}:{problem['line']}: {problem['text']}"))
    for name, title in _ALARMS.items():
        for one in answer.get(name, ()):
            print(plain(f"  ! {title}: {one}"))
    for one in answer["policy_unlocks"]:
        whom = f"team {one['team']}" if one["team"] else one["user"] or "everybody"
        print(
            plain(
                f"  ! {one['rule']} is unlocked for {whom} until {one['until']} by {one['created_by']}: {one['reason']}"
            )
        )
    decisions = answer.get("decisions")  # absent while SQL cannot be read
    _counts("decisions", decisions, _UNKNOWN if decisions is None else "none yet")
    records = answer["records"]
    print(
        f"  records: {records.get('appended', 0)} written, {records.get('queued', 0) + records.get('waiting', 0)} waiting"
    )
    _outage(records)
    degraded = dict(answer["degraded"])
    changed = degraded.pop("installation", 0)
    unannounced = degraded.pop("agent_model", 0)
    _counts(
        "decided without",
        {_MISSING.get(str(name), str(name)): count for name, count in degraded.items()},
        "nothing was missing",
    )
    if unannounced:
        print(
            f"  ! {unannounced} agents started unseen, as by a workflow, on their caller's model instead of their roster's"
        )
    if changed:
        print(f"  ! {changed} sessions started with hook files other than the installed ones: `baton hooks status`")
    _counts("hook calls answered without a decision", answer["hook_failures"], "none")
    for key, count in sorted(answer["disobeyed"].items()):
        client, version, outcome = key.split(" ")
        print(
            plain(f"  ! {client} {version} {_DISOBEYED[outcome].format(count)}: `baton decisions --outcome {outcome}`")
        )
    for who, count in sorted(answer["refused"].items()):
        print(plain(f"  ! {count} hook calls with a refused token: {who}"))
    _models(answer)
    _callers(answer)


def _stores(answer: dict[str, Any]) -> None:
    """Show why a dependency is down, and a wrong clock."""
    for name, cause in answer.get("causes", {}).items():
        print(plain(f"  ! {name} accepts no writes: {cause}"))
    if ahead := answer.get("clock_ahead_s"):
        side = "ahead of" if ahead > 0 else "behind"
        print(f"  ! the server's clock is {abs(ahead):.0f} s {side} that of Redis or the database: set it")


def _outage(records: dict[str, int]) -> None:
    """Show records waiting on disk for the database, lost, or unstorable."""
    if most := records.get("spool_most_mb"):
        used = records["spool_mb"]
        print(
            f"  ! {used} of {most} MB of records wait on disk, because the database is or was unavailable: see its log"
        )
    full = records.get("shed", 0)
    if full:
        print(f"  ! {full} records were lost, because Redis and the disk are full: repair the database")
    if lost := records.get("dropped", 0) - full:
        print(f"  ! {lost} records were lost, because Redis could not take them: see the server's log")
    if odd := records.get("set_aside"):
        print(f"  ! {odd} records cannot be stored and are kept in Redis: see the server's log")


def _models(answer: dict[str, Any]) -> None:
    """Show missing parts of routing, its model, and the models paused now."""
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
    if answer["database"] == "down":
        print(f"  clients, tokens, runners: {_UNKNOWN}")
    elif not answer["clients"]:
        print("  clients: none yet; `baton hooks install` connects one")
    for client in answer["clients"]:
        name = plain(client["client"])
        who = f"{name} of {client['user']}"
        if seen := client.get("last_seen"):
            print(f"  client {who}: last seen {_ago(seen)} ago")
        else:
            ago = _ago(client["installed_at"])
            print(
                f"  ! hooks of {who}: installed {ago} ago, never heard of: start a session, or run `baton doctor` there"
            )
        if client["silent"]:
            print(f"  ! {client['user']} is at work, but {name} is silent: run `baton doctor` there")
    for one in answer.get("unchecked", []):
        since = _ago(one["started_at"])
        print(plain(f"  ! {one['client']} (process {one['pid']}) has run for {since} unchecked: {one['why']}"))
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
