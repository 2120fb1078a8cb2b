"""`baton policy`: test, lint, explain and compare policies on folders, by the code that decides.

It asks no server; the commands that do stand in `policy_layers` and `policy_replay`.

Exit codes: 0 all is well, 1 something was found, 2 the command cannot be carried out.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from baton.cli.groups import group
from baton.cli.policies import layers
from baton.cli.policies import replay as policy_replay
from baton.cli.policies.payloads import CallError, facts_of, one_call, read_calls
from baton.engine.policy.diff import compare, verdict_changes
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.explain import explain as trace_rules
from baton.engine.policy.lint import lint as find
from baton.engine.policy.load import PolicyProblems, PolicySet, Problem, layered, load
from baton.engine.policy.schema import file_text, json_schema
from baton.engine.text.yaml_lines import did_you_mean
from baton.shared import policy_folders as policy_files

app = group("Test, compare, upload and replay policies.")
layers.add_to(app)
policy_replay.add_to(app)

Folder = Annotated[
    str,
    typer.Argument(
        metavar="[FOLDER]",
        help="The organisation's policies, laid over the shipped ones; `shipped` for those alone. Default: BATON_HOME/policies.",
    ),
]
Alone = Annotated[bool, typer.Option("--alone", help="Take the folder as a whole set, without the shipped policies.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]

_ID = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")
_NEW = """\
id: {id}
description: Say in one sentence what nobody should do, and why.
match:
  shell: {{program: make, operands: [deploy]}}
decision: ask
reason: "`{{command}}` deploys."
suggest: Tell the person what is ready to be deployed.
tests:
  match:
    - make deploy
  not_match:
    - make test
    - echo "make deploy"
"""


@app.command("test")
def run_tests(folder: Folder = "", alone: Alone = False, as_json: Json = False) -> None:
    """Load a policy set and run the tests that stand in its rules."""
    policies = _load(folder, alone=alone, as_json=as_json)
    count = sum(len(rule.tests.match) + len(rule.tests.not_match) for rule in policies.rules)
    on = sum(rule.enabled for rule in policies.rules)
    if as_json:
        _print({"ok": True, "revision": policies.revision, "rules": len(policies.rules), "on": on, "tests": count})
    else:
        print(f"revision {policies.revision}: {len(policies.rules)} rules, {on} of them on; {count} tests pass")


@app.command()
def lint(folder: Folder = "", alone: Alone = False, as_json: Json = False) -> None:
    """Find what a set accepts and is probably a mistake."""
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
    as_json: Json = False,
) -> None:
    """Say which rule decides a payload from stdin, and why the others do not: baton policy explain < payload.json."""
    policies = _load(folder, alone=alone, as_json=as_json)
    try:
        facts = facts_of(one_call(sys.stdin.read()), level, tuple(filter(None, history.split(","))))
    except CallError as error:
        raise _unusable(str(error)) from None
    verdict, traces = evaluate(policies, facts), trace_rules(policies, facts)
    if as_json:
        _print({"verdict": msgspec.to_builtins(verdict), "rules": msgspec.to_builtins(traces)})
        return
    print(f"{verdict.effect}, decided by {verdict.rule}" if verdict.rule else "no opinion: no rule matched")
    for text in (verdict.reason, verdict.guidance, verdict.message):
        if text:
            print("\n".join(f"  | {line}" for line in text.splitlines()))
    for trace in sorted(traces, key=lambda trace: not trace.matched):
        decision = f"{trace.decision}, in shadow" if trace.shadow else trace.decision
        when = f" [when: {trace.when}]" if trace.when else ""
        print(f"  {trace.id} ({decision}): {'matched' if trace.matched else trace.why}{when}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A policy folder, or `shipped`.")],
    after: Annotated[str, typer.Argument(help="A policy folder. Default: BATON_HOME/policies.")] = "",
    calls: Annotated[Path | None, typer.Option(help="Payloads, one JSON a line: show whose verdicts change.")] = None,
    level: Annotated[str, typer.Option(help="The mode's level for --calls.")] = "strict",
    alone: Alone = False,
    as_json: Json = False,
) -> None:
    """Compare two policy sets: rules added, removed, changed, switched; exit code 1 if they differ."""
    old, new = _load(before, alone=alone, as_json=as_json), _load(after, alone=alone, as_json=as_json)
    changes, verdicts = compare(old, new), []
    try:
        if calls is not None:
            read = read_calls(calls.read_text(encoding="utf-8"))
            verdicts = verdict_changes(old, new, [facts_of(call, level, ()) for call in read])
    except (CallError, OSError, UnicodeError) as error:
        raise _unusable(str(error)) from None
    if as_json:
        _print({"rules": msgspec.to_builtins(changes), "verdicts": msgspec.to_builtins(verdicts)})
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
    folder: Annotated[str, typer.Argument(help="Where your policies are. Default: BATON_HOME/policies.")] = "",
) -> None:
    """Write a rule to start from, with tests that pass."""
    if not _ID.fullmatch(rule_id) or rule_id.startswith(("agents/", "shell/", "schema/")):
        raise _unusable(f"`{rule_id}` is no id for a rule; allowed: folder/name in small letters, digits and `-`")
    path = (Path(folder) if folder else _home()) / f"{rule_id}.yaml"
    if path.exists():
        raise _unusable(f"`{path}` exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NEW.format(id=rule_id), encoding="utf-8")
    print(f"{path}\nNow change it, then run: baton policy test {folder}".rstrip())


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(help="rule, config or roster; all of them without it.")] = "",
    write: Annotated[Path | None, typer.Option(help="Write each as KIND.json into this folder.")] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    schemas: dict[str, Any] = {str(name): of for name, of in json_schema().items()}
    if kind and kind not in schemas:
        raise _unusable(f"unknown kind `{kind}`{did_you_mean(kind, list(schemas))}")
    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
        for name in [kind] if kind else schemas:
            (write / f"{name}.json").write_text(file_text(schemas[name]), encoding="utf-8")
        return
    print(file_text(schemas[kind] if kind else schemas), end="")


def _home() -> Path:
    return Path(os.environ.get("BATON_HOME") or ".baton") / "policies"


def _load(folder: str, *, alone: bool, as_json: bool) -> PolicySet:
    own = Path(folder) if folder and folder != "shipped" else None
    if own is not None and not own.is_dir():
        raise _unusable(f"`{folder}` is no folder; give a folder of policies, or `shipped`")
    try:
        mine = policy_files.read(own or _home()) if folder != "shipped" else {}
        return load(layered(mine) if alone and own else layered(policy_files.read(policy_files.shipped()), mine))
    except OSError as error:
        raise _unusable(str(error)) from None
    except PolicyProblems as refused:
        _show(refused.problems, as_json=as_json)
        if not as_json:
            print(
                f"refused: {len(refused.problems)} problem{'s' if len(refused.problems) > 1 else ''}", file=sys.stderr
            )
        raise typer.Exit(1) from None


def _show(problems: list[Problem], *, as_json: bool) -> None:
    if as_json:
        _print({"ok": not problems, "problems": msgspec.to_builtins(problems)})
        return
    for problem in problems:
        print(problem if problem.line else f"{problem.file}: {problem.text}")


def _print(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=sorted))


def _unusable(text: str) -> typer.Exit:
    print(f"baton policy: {text}", file=sys.stderr)
    return typer.Exit(2)
