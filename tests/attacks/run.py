"""Try every attack of this folder against a real server, and print the results: `make attacks`.

Ends with 1 if an attack was allowed without a row in the threat model's out-of-reach table, or if a harmless neighbour
was asked about. Takes about two minutes.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from baton.rules.call.commands import judged_as
from baton.rules.policy.load import fitting
from tests.attacks import requests as stall
from tests.attacks.agent import Agent
from tests.attacks.corpus import OUTCOMES, calls, out_of_reach, parts
from tests.attacks.openapi import requests
from tests.hooks.shim import Scripted, run_shim
from tests.hooks.shim import answers as answering
from tests.shipped_policies.test_colleagues import NAMES, TIERS, layer, loosened
from tests.support.fake_secrets import fakes
from tests.support.server import Server, serving, until
from tests.support.shipped import shipped


class Tried(msgspec.Struct, frozen=True):
    """An attack that was tried: its class and name, what became of it, and the row that names it where it is allowed."""

    kind: str
    name: str
    outcome: str
    row: str = ""
    harmless: bool = False


def lines_and_calls(agent: Agent, folder: Path) -> Iterator[Tried]:
    """Try the shell lines and the calls of other tools; run the lines that only the server can refuse."""
    for number, call in enumerate(calls()):
        if call.want == "harmless":
            yield Tried(call.kind, call.name, agent.asks(call), harmless=True)
        else:
            yield Tried(call.kind, call.name, agent.tries(call, folder / str(number)), call.row)


def operations(agent: Agent) -> Iterator[Tried]:
    """Send each operation of a person in each dress."""
    for one in requests():
        statuses = agent.sends(one)
        went = any(status < 300 for status in statuses[1 if one.dress == "behind an event" else 0 :])
        # A GET that names another method is a read.
        outcome = "allowed" if not statuses or (went and not one.dress.startswith("GET")) else "refused"
        yield Tried("requests/" + one.operation.partition(" ")[0].lower(), f"{one.operation}, {one.dress}", outcome)


def credentials(agent: Agent) -> Iterator[Tried]:
    """Send the requests of credentials.yaml, and post its events before a look-up that the mode blocks."""
    for one in parts("credentials"):
        if "request" in one:
            yield Tried(one["class"], one["name"], agent.asks_for(**one["request"]))
        elif "events" in one:
            yield Tried(one["class"], one["name"], agent.posts(one["events"]))


def uploads(server: Server) -> Iterator[Tried]:
    """Upload what a colleague would; what is accepted must loosen no guardrail."""
    with server.client() as admin:
        for number, one in enumerate(one for one in parts("colleagues") if "upload" in one):
            tier = one.get("tiers", TIERS)[number % len(one.get("tiers", TIERS))]
            upload = layer(one, tier)
            named = {} if tier == "organisation" else {"name": NAMES[tier]}
            body = {"files": upload.files}
            answer = admin.put(f"/policies/layers/{tier}", params=named, json=body, headers={"If-Match": "*"})
            if answer.status_code in {404, 422}:
                yield Tried(one["class"], f"{one['name']} ({tier})", "refused")
                continue
            answer.raise_for_status()
            policies, _ = fitting(shipped(), [upload], ())
            yield Tried(one["class"], f"{one['name']} ({tier})", "allowed" if loosened(policies) else "bounded")


def answers(folder: Path) -> Iterator[Tried]:
    """Let a taken-over server answer the real shim."""
    server = Scripted()
    home = folder / "shim"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "BATON_URL": server.url, "BATON_USER": "ada"}
    try:
        for one in parts("colleagues"):
            if "answer" not in one:
                continue
            text = one["answer"].encode()
            server.reply = answering(text)
            ran = run_shim(["sh"], env, home, one["client"], one.get("event", "PreToolUse"))
            went = ran.out.strip() == text.strip()
            expected = one["want"] == "passed"
            outcome = "bounded" if went and expected else "allowed" if went else "refused"
            yield Tried(one["class"], one["name"], outcome)
    finally:
        server.close()


def permissions() -> Iterator[Tried]:
    """Judge what a delegated agent asks leave for under another name."""
    for one in parts("colleagues"):
        if one["class"] == "colleagues/request":
            asked = one["request"]
            tool, given = judged_as(asked.get("kind", ""), asked["tool_name"], asked["tool_input"])
            right = tool == one["want"][0] and all(given.get(key) == value for key, value in one["want"][1].items())
            yield Tried(one["class"], one["name"], "refused" if right else "allowed")


def hostile(server: Server) -> Iterator[Tried]:
    """Send what is made to stall the server; another's hook must be answered after each."""
    port = int(server.url.rpartition(":")[2])
    with server.agent() as other:
        for one in stall.attacks():
            found = asyncio.run(stall.send(one, port, server.token))
            alive = other.post("/pre-tool-use", json={"session_id": "other", "tool_name": "Bash", "tool_input": {}})
            right = found.word in one.want and alive.status_code == 200
            done = "bounded" if found.word in {"decision", "200"} else "refused"
            yield Tried(one.kind, one.name, done if right else "allowed")


def secrets(server: Server) -> Callable[[], Iterator[Tried]]:
    """Send texts with secrets as calls and prompts; what is returned looks for them in all that the server has kept."""
    sent = fakes(seed=11)
    with server.agent(**{"Baton-User": "keeper"}) as http:
        for number, one in enumerate(sent):
            base = {"session_id": "secrets", "cwd": "/p", "tool_use_id": f"s{number}"}
            call = {"tool_name": "Bash", "tool_input": {"command": one.text}, "hook_event_name": "PreToolUse"}
            http.post("/hooks/claude-code", json=base | call).raise_for_status()
            prompt = {"hook_event_name": "UserPromptSubmit", "prompt": f"please: {one.text}"}
            http.post("/hooks/claude-code", json=base | prompt).raise_for_status()
        until(lambda: not http.get("/status").json()["records"]["queued"])
        until(lambda: not http.get("/status").json()["records"]["waiting"])

    def look() -> Iterator[Tried]:
        kept = [path.read_bytes() for path in server.home.rglob("*") if path.is_file()] + [server.log.read_bytes()]
        if sum(data.count(b"[masked:") for data in kept) < len(sent):
            raise AssertionError("the server has kept nothing of what it was sent")
        for one in sent:
            needle = (one.body if len(one.body) >= 12 else one.secret).encode()
            yield Tried(
                f"secrets/{one.kind}", one.name, "allowed" if any(needle in data for data in kept) else "masked"
            )

    return look


def table(tried: list[Tried]) -> str:
    """Return the outcomes of each class as a table for people."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in tried:
        found[one.kind][one.outcome] += 1
    lines = [f"{'class':32}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES) + f"{'tried':>9}"]
    for kind, counts in sorted(found.items()):
        cells = "".join(f"{counts[outcome] or '.':>9}" for outcome in OUTCOMES)
        lines.append(f"{kind:32}{cells}{counts.total():>9}")
    all_of_them = Counter(one.outcome for one in tried)
    cells = "".join(f"{all_of_them[outcome]:>9}" for outcome in OUTCOMES)
    return "\n".join([*lines, f"{'all':32}{cells}{len(tried):>9}"])


def main() -> int:
    """Try everything; return the exit status."""
    # What the server that is attacked should not see: the variables of whoever runs this.
    for name in [name for name in os.environ if name.startswith("BATON_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="baton-attacks-"))
    os.environ["BATON_TEST_RUN_FOLDER"] = str(folder)
    try:
        tried: list[Tried] = []
        with serving(folder / "home", BATON_LOG_LEVEL="debug") as server:
            agent = Agent(server)
            for part in (
                lines_and_calls(agent, folder), operations(agent), credentials(agent), permissions(), answers(folder),
                hostile(server),
            ):  # fmt: skip
                tried += part
                print(f"{len(tried)} tried …", file=sys.stderr)
            look = secrets(server)
            tried += uploads(server)
            agent.close()
            server.stop(signal.SIGTERM)
            tried += look()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    harmless = [one for one in tried if one.harmless]
    attacks = [one for one in tried if not one.harmless]
    print(table(attacks))
    rows = out_of_reach()
    named = [one for one in attacks if one.outcome == "allowed" and one.row in rows]
    wrong = [one for one in attacks if one.outcome == "allowed" and one.row not in rows]
    asked = [one for one in harmless if one.outcome != "allowed"]
    print(f"\nharmless neighbours: {len(harmless)}, asked about: {len(asked)}")
    print(f"\nallowed, and out of reach by the threat model: {len(named)}")
    for one in named:
        print(f"  {one.kind}: {one.name}\n    {one.row}: {rows[one.row].what}")
    for title, found in (("allowed, and named by no row", wrong), ("harmless, and asked about", asked)):
        if found:
            print(f"\n{title}: {len(found)}")
            print("\n".join(f"  {one.kind}: {one.name[:200]}" for one in found))
    return 1 if wrong or asked else 0


if __name__ == "__main__":
    sys.exit(main())
