"""`baton policy`: test, lint, explain and compare policies in folders, offline, by the same engine as the server.

The commands with a server are in `layers`, `unlocks` and `replay`. Each command imports only its part of the engine,
because the whole import takes longer than most commands.

Exit codes: 0 success, 1 findings, 2 the command cannot be carried out.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, UsageError, path_of
from baton.cli.output import end_with_json, plain, show_json
from baton.cli.policies import layers, report, unlocks
from baton.cli.policies import replay as policy_replay
from baton.local.server import Api
from baton.shared import policy_folders

if TYPE_CHECKING:
    from baton.rules.call.verdict import Facts
    from baton.rules.policy.load import Fault, PolicySet


class CallError(UsageError):
    """A payload, or an option about it, cannot be used."""


def read_calls(text: str) -> list[dict[str, Any]]:
    """Read one JSON object, or one a line. Raise CallError."""
    # A pretty-printed object has many lines, so the whole is tried before the lines.
    try:
        whole = json.loads(text)
        found = whole if isinstance(whole, list) else [whole]
    except ValueError:
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except ValueError as error:
                    raise CallError(f"line {number} is not JSON: {error}") from None
    if not found:
        raise CallError('no payload; give one such as {"tool_name": "Bash", "tool_input": {"command": "pytest"}}')
    for payload in found:
        if not isinstance(payload, dict):
            raise CallError(f"a payload must be a JSON object, not `{json.dumps(payload)[:40]}`")
    return found


def one_call(text: str) -> dict[str, Any]:
    """Read exactly one JSON object. Raise CallError."""
    found = read_calls(text)
    if len(found) != 1:
        raise CallError(f"{len(found)} payloads were given; give one")
    return found[0]


def facts_of(payload: dict[str, Any], level: str, history: tuple[str, ...]) -> "Facts":
    """Return the facts for deciding a payload. Raise CallError."""
    from msgspec.structs import replace

    from baton.clients.claude_code import SPEC, read_as
    from baton.clients.event import UnreadableFieldError, text
    from baton.lib.text.yaml_lines import did_you_mean
    from baton.rules.call.call import call_of
    from baton.rules.call.verdict import Facts, Level

    levels: dict[str, Level] = {name: name for name in get_args(Level)}
    if level not in levels:
        raise CallError(f"unknown level `{level}`{did_you_mean(level, list(levels))}")
    try:
        event = read_as(replace(SPEC, name="cli"), payload, "PreToolUse")
    except UnreadableFieldError as error:
        raise CallError(str(error)) from None
    if not event.tool_name:
        raise CallError("a payload needs `tool_name`, a string")
    call = call_of(event, text(payload, "project"), text(payload, "project_root"), ())
    return Facts(call=call, level=levels[level], history=history)


app = group("Test, compare, upload and replay policies.")

Folder = Annotated[
    str,
    typer.Argument(
        metavar="[FOLDER]",
        help="The organisation's policies, laid over the shipped ones; `shipped` for those alone. Default: BATON_HOME/policies.",
    ),
]
Alone = Annotated[bool, typer.Option("--alone", help="Use the folder alone, without the shipped policies.")]

_ID = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")
_NEW = """\
id: {id}
description: State in one sentence the forbidden action and the reason.
match:
  shell: {{program: make, operands: [deploy]}}
decision: ask
reason: "`{{command}}` deploys."
suggest: Ask the person to deploy.
tests:
  match:
    - make deploy
  not_match:
    - make test
    - echo "make deploy"
"""


@app.command("test")
def run_tests(
    folder: Folder = "",
    alone: Alone = False,
    decision: Annotated[
        str,
        typer.Option(
            "--from", metavar="DECISION", help="Print a rule to start from, with a test made of a recorded decision."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Load a policy set and run the tests in its rules; with --from, make a test of a decision instead.

    Example: baton policy test --from 0198f3c1-… > rule.yaml
    """
    if decision:
        _print_test(decision, as_json=as_json)
        return
    policies = _load(folder, alone=alone, as_json=as_json)
    count = sum(len(rule.tests.match) + len(rule.tests.not_match) for rule in policies.rules)
    on = sum(rule.enabled for rule in policies.rules)
    if as_json:
        show_json({"ok": True, "revision": policies.revision, "rules": len(policies.rules), "on": on, "tests": count})
    else:
        print(f"revision {policies.revision}: {len(policies.rules)} rules, {on} of them on; {count} tests pass")


@app.command()
def lint(folder: Folder = "", alone: Alone = False, as_json: AsJson = False) -> None:
    """Find probable mistakes in a valid policy set."""
    from baton.rules.policy.lint import lint as find

    policies = _load(folder, alone=alone, as_json=as_json)
    found = find(policies)
    _show(found, as_json=as_json)
    if not found and not as_json:
        print(f"revision {policies.revision}: nothing found")
    raise typer.Exit(1 if found else 0)


@app.command()
def explain(
    folder: Folder = "",
    level: Annotated[str, typer.Option(help="The mode's level: off, guidance, strict.")] = "strict",
    history: Annotated[str, typer.Option(help="The calls before this one, oldest first: Read,Grep.")] = "",
    alone: Alone = False,
    as_json: AsJson = False,
) -> None:
    """Show the deciding rule of a payload from standard input, and why the others do not match.

    Example: baton policy explain < payload.json
    """
    import msgspec

    from baton.rules.policy.evaluate import evaluate
    from baton.rules.policy.explain import explain as trace_rules

    policies = _load(folder, alone=alone, as_json=as_json)
    facts = facts_of(one_call(sys.stdin.read()), level, tuple(filter(None, history.split(","))))
    verdict, traces = evaluate(policies, facts), trace_rules(policies, facts)
    end_with_json(msgspec.to_builtins({"verdict": verdict, "rules": traces}), when=as_json)
    print(f"{verdict.effect}, decided by {verdict.rule}" if verdict.rule else "no opinion: no rule matched")
    for text in (verdict.reason, verdict.guidance, verdict.message):
        if text:
            print("\n".join(f"  | {line}" for line in text.splitlines()))
    for trace in sorted(traces, key=lambda trace: not trace.matched):
        decision = f"{trace.decision}, in shadow" if trace.shadow else trace.decision
        when = f" [when: {trace.when}]" if trace.when else ""
        lock = f" [locked by `{trace.locked}`]" if trace.locked else ""
        print(f"  {trace.id} ({decision}): {'matched' if trace.matched else trace.why}{when}{lock}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A policy folder, or `shipped`.")],
    after: Annotated[str, typer.Argument(help="A policy folder. Default: BATON_HOME/policies.")] = "",
    calls: Annotated[
        Path | None, typer.Option(help="A file of payloads, one JSON object per line: show changed verdicts.")
    ] = None,
    level: Annotated[str, typer.Option(help="The mode's level for --calls.")] = "strict",
    alone: Alone = False,
    as_json: AsJson = False,
) -> None:
    """Compare two policy sets: rules added, removed, changed, switched. The exit code is 1 if they differ."""
    import msgspec

    from baton.rules.policy.replay import compare, verdict_changes

    old, new = _load(before, alone=alone, as_json=as_json), _load(after, alone=alone, as_json=as_json)
    changes, verdicts = compare(old, new), []
    if calls is not None:
        try:
            text = calls.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise UsageError(str(error)) from None
        verdicts = verdict_changes(old, new, [facts_of(call, level, ()) for call in read_calls(text)])
    if as_json:
        show_json(msgspec.to_builtins({"rules": changes, "verdicts": verdicts}))
    else:
        print(f"revision {old.revision} → {new.revision}")
        for change in changes:
            print(f"  {change.kind} {change.id}{': ' + change.what if change.what else ''}")
        for moved in verdicts:
            print(f"  call {moved.index + 1}: {moved.before} → {moved.after}")
    raise typer.Exit(1 if changes or verdicts else 0)


@app.command()
def new(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="folder/name, such as team/no-deploy.")],
    folder: Annotated[str, typer.Argument(help="Folder of your policies. Default: BATON_HOME/policies.")] = "",
    as_json: AsJson = False,
) -> None:
    """Write a starting rule with passing tests."""
    if not _ID.fullmatch(rule_id) or rule_id.startswith(("agents/", "shell/", "schema/")):
        raise UsageError(f"`{rule_id}` is not a rule id; allowed: folder/name in small letters, digits and `-`")
    path = (Path(folder) if folder else _home()) / f"{rule_id}.yaml"
    if path.exists():
        raise UsageError(f"`{path}` exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NEW.format(id=rule_id), encoding="utf-8")
    end_with_json({"path": str(path)}, when=as_json)
    print(f"{path}\nNow change it, then run: baton policy test {folder}".rstrip())


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(help="rule, config or roster. Default: all of them.")] = "",
    write: Annotated[Path | None, typer.Option(help="Write each as KIND.json into this folder.")] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from baton.lib.text.yaml_lines import did_you_mean
    from baton.rules.policy.rules.model import file_text, json_schema

    schemas: dict[str, Any] = {str(name): of for name, of in json_schema().items()}
    if kind and kind not in schemas:
        raise UsageError(f"unknown kind `{kind}`{did_you_mean(kind, list(schemas))}")
    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
        for name in [kind] if kind else schemas:
            (write / f"{name}.json").write_text(file_text(schemas[name]), encoding="utf-8")
        return
    print(file_text(schemas[kind] if kind else schemas), end="")


app.add_typer(report.reports, name="reports")
layers.add_to(app)
unlocks.add_to(app)
policy_replay.add_to(app)


def _print_test(decision: str, *, as_json: bool) -> None:
    """Print the server's rule for a decision as a file's text, and its path on standard error."""
    made = Api().request("GET", path_of("decisions", decision, "rule-test"))
    end_with_json(made, when=as_json)
    print("\n".join(plain(line) for line in made["text"].splitlines()))
    what = f"it replaces `{made['replaces']}`; its first test fails until you change it" if "replaces" in made else ""
    print(plain(f"for {made['path']}{': ' if what else ''}{what}"), file=sys.stderr)


def _home() -> Path:
    return Path(os.environ.get("BATON_HOME") or ".baton") / "policies"


def _load(folder: str, *, alone: bool, as_json: bool) -> "PolicySet":
    """Load the policies of a folder over the shipped ones. Print the problems and exit with 1 if they are refused."""
    from baton.rules.policy.load import PolicyProblems, layered, load

    own = Path(folder) if folder and folder != "shipped" else None
    if own is not None and not own.is_dir():
        raise UsageError(f"`{folder}` is not a folder; give a folder of policies, or `shipped`")
    try:
        mine = policy_folders.read(own or _home()) if folder != "shipped" else {}
        return load(layered(mine) if alone and own else layered(policy_folders.read(policy_folders.shipped()), mine))
    except OSError as error:
        raise UsageError(str(error)) from None
    except PolicyProblems as refused:
        _show(refused.problems, as_json=as_json)
        if not as_json:
            print(
                f"refused: {len(refused.problems)} problem{'s' if len(refused.problems) > 1 else ''}", file=sys.stderr
            )
        raise typer.Exit(1) from None


def _show(problems: "list[Fault]", *, as_json: bool) -> None:
    if as_json:
        import msgspec

        show_json({"ok": not problems, "problems": msgspec.to_builtins(problems)})
        return
    for problem in problems:
        print(plain(str(problem) if problem.line else f"{problem.file}: {problem.text}"))
