"""The format of a rule file and of config.yaml: their keys and types."""

from typing import Annotated, Any, Literal

import msgspec

from baton.lib.bash.model import Category, Input
from baton.rules.agents.rosters import Roster
from baton.rules.call.call import Aliases

Words = str | list[str]
Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Decision = Literal["deny", "ask", "rewrite", "allow"]
_APPROVER = r"^(self|lead|role:(lead|admin|auditor)|user:\S+)$"
_APPROVERS = "`self`, `lead`, `role:lead`, `role:admin`, `role:auditor` or `user:NAME`"
Approver = Annotated[str, msgspec.Meta(pattern=_APPROVER, description=_APPROVERS)]
_HOURS = r"^([1-9]|[1-5][0-9])m$|^([1-9]|1[0-9]|2[0-4])h$"
Expiry = Annotated[str, msgspec.Meta(pattern=_HOURS, description="`1m` to `59m`, or `1h` to `24h`")]
Wait = Annotated[str, msgspec.Meta(pattern=r"^(0s|[1-9][0-9]?s|[1-9]m)$", description="`0s` to `99s`, or `1m` to `9m`")]
Who = Literal["any", "orchestrator", "subagent"]
Switch = Literal["on", "off", "shadow"]
CaseRole = Literal["developer", "lead", "admin", "runner", "auditor"]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping in which unknown keys are errors."""


class ProgramMatch(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions on one program of a shell line. All keys must hold; within a list, any item.

    `args` are the first words of the command; `arguments` match any argument, or the value in `--key=value`. `input` is
    the kind of standard input: "" for the session's own, `pipe`, `file` (`< x`), `text` (a here-document), `connection`
    (`< /dev/tcp/host/port`), or `arguments` for a program started by `xargs`. `writes_all_of` are places whose whole
    content is written, as by `rm -r`, `mv` and `chmod -R`. `arguments_in` are places of path arguments; `urls` match a
    decoded URL in any argument. `overwrites_branch` are globs of remote branches, one of which the program overwrites
    or deletes; `may_overwrite_branch` the same for an unknown branch. `matching` are texts matched by an operand as a
    regular expression. `names_server` holds if an argument has the id of one of this server's processes, or its port.
    `unnamed` holds for an unknown program with arguments (`$x -rf /`); `reads_files` if its code reads files by name,
    or searches for some. `not_after` are programs that do not run
    before it in the line.
    """

    program: Words | None = None
    program_none: Words | None = None
    subcommand: Words | None = None
    flags: Words | None = None
    flags_all: list[str] | None = None
    flags_none: Words | None = None
    operands: Words | None = None
    max_operands: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = None
    min_operands: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    input: Input | list[Input] | None = None
    args: list[str] | None = None
    arguments: Words | None = None
    urls: Words | None = None
    category: Category | list[Category] | None = None
    writes_to: Words | None = None
    writes_all_of: Words | None = None
    arguments_in: Words | None = None
    assigns: Words | None = None
    overwrites_branch: Words | None = None
    may_overwrite_branch: Words | None = None
    matching: Words | None = None
    names_server: Literal[True] | None = None
    unnamed: Literal[True] | None = None
    reads_files: Literal[True] | None = None
    not_after: "list[ProgramMatch | str] | None" = None


Programs = ProgramMatch | list[ProgramMatch | str]


class Feeds(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A pipe into an interpreter: the program writing the script, and the one running it."""

    source: Programs = msgspec.field(name="from", default_factory=list)
    into: Programs = msgspec.field(default_factory=list)


class ShellMatch(ProgramMatch, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions on a shell line: the keys of `ProgramMatch` are about one program, these about the whole line.

    `writes_except` are globs of paths that do not count for a `writes_to` without a program.
    """

    writes_except: Words | None = None
    unparsed: bool | None = None
    fork_bomb: bool | None = None
    feeds: Feeds | None = None
    exports: Words | None = None
    only: Programs | None = None
    beside: Programs | None = None


class HistoryMatch(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """`same_tool_within: N` holds if one of this agent's last N calls used the same tool.

    For a lookup it also holds if one of them was a lookup by another tool or by shell, unless `lookups: tool` is set.
    """

    same_tool_within: Annotated[int, msgspec.Meta(ge=1, le=50)]


class AgentMatch(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions on a call starting a sub-agent. `default` matches the rosters' model for the agent."""

    known: bool | None = None
    skill: bool | None = None
    model: Literal["absent", "present"] | None = None
    default: Words | None = None


class Condition(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One condition: all keys must hold; within a list, any item. policies/README.md explains each key."""

    tools: Words | None = None
    paths: Words | None = None
    places: Words | None = None
    writes_to: Words | None = None
    reads: Words | None = None
    input: dict[str, Any] | None = None
    urls: Words | None = None
    mentions: Words | None = None
    edits_files: Literal[True] | None = None
    unread_input: Literal[True] | None = None
    shell: ShellMatch | None = None
    lookup: Literal[True] | None = None
    history: HistoryMatch | None = None
    agent: AgentMatch | None = None
    background_running_at_least: Count | None = None
    edited_by_other: Literal[True] | None = None
    outside_agent_tools: Literal[True] | None = None
    spawn_refused_by: str | None = None


Conditions = Condition | list[Condition]


class Suggest(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """An alternative action: a Task call (`agent` and `prompt`) or plain `text`; with `if`, only if it holds."""

    agent: str = ""
    prompt: str = ""
    text: str = ""
    if_: Conditions | None = msgspec.field(name="if", default=None)


class CasePrincipal(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """The person whose agent makes the call of a test."""

    organisation: str = "default"
    team: str = "default"
    user: str = "local"
    role: CaseRole = "developer"


class Repeat(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """The value of `{repeat}` in the line or the input of a test: a repeated text, with `{n}` counted from 0."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    times: Annotated[int, msgspec.Meta(ge=2, le=1_000)]


class Case(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A call for testing a rule. The project is at `/repo`; `who` and `level` default to the rule's conditions."""

    bash: str | None = None
    tool: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    who: Literal["orchestrator", "subagent"] | None = None
    agent_type: str = ""
    permission_mode: str = ""
    level: Literal["off", "guidance", "strict"] | None = None
    history: list[str] | None = None
    background_running: int = 0
    other_editor: str = ""
    cwd: str = "/repo"
    root: str = "/repo"
    principal: CasePrincipal = CasePrincipal()
    repeat: Repeat | None = None


class RuleTests(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Calls that the rule must match and must not match. A plain text is a Bash command."""

    match: list[str | Case] = msgspec.field(default_factory=list)
    not_match: list[str | Case] = msgspec.field(default_factory=list)


class RuleFile(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One rule, one file. `set` are the input keys changed by a rewrite; `replaces` names rules to turn off.

    Policies rewrite calls that start an agent, and other tools only if a developer opened them. A rule in `shadow`
    records its matches without effect. `when` is an additional condition in CEL. `approvers` may answer an `ask`:
    `self`, `lead`, `role:ROLE`, `user:NAME`. `expires` is how long its request, and then its approval, are valid;
    `wait` is how long the call itself waits for the answer.
    """

    id: str
    description: Annotated[str, msgspec.Meta(min_length=1)]
    who: Who = "any"
    modes: Annotated[list[Literal["guidance", "strict"]], msgspec.Meta(min_length=1)] | None = None
    enabled: bool = True
    shadow: bool = False
    replaces: list[str] = msgspec.field(default_factory=list)
    match: Conditions
    unless: Conditions = msgspec.field(default_factory=list)
    when: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)] | None = None
    decision: Decision
    approvers: list[Approver] = msgspec.field(default_factory=lambda: ["self"])
    expires: Expiry = "1h"
    wait: Wait = "0s"
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    set: dict[str, str] = msgspec.field(default_factory=dict)
    suggest: str | Suggest | list[Suggest] = msgspec.field(default_factory=list)
    on_failure: Literal["ignore", "deny"] = "ignore"
    tests: RuleTests


class Pack(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """pack.yaml: what a pack of rules is for. `promise` is the share of ordinary calls that it stops at most, in percent."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    description: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    promise: Annotated[float, msgspec.Meta(gt=0, le=100)]


class RowOverride(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a row of a roster; other keys keep their values. The keys are those of `rules.agents.rosters.Row`.

    A row missing from the roster is added, if it has a description.
    """

    model: str | msgspec.UnsetType = msgspec.UNSET
    tier: str | msgspec.UnsetType = msgspec.UNSET
    display_model: str | msgspec.UnsetType = msgspec.UNSET
    cli_model: str | msgspec.UnsetType = msgspec.UNSET
    tools: list[str] | msgspec.UnsetType = msgspec.UNSET
    role: str | msgspec.UnsetType = msgspec.UNSET
    prompt: str | msgspec.UnsetType = msgspec.UNSET
    delegation_target: str | msgspec.UnsetType = msgspec.UNSET
    delegation_call: str | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType = msgspec.UNSET
    triggers: list[str] | msgspec.UnsetType = msgspec.UNSET


class Config(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """config.yaml. `rules` switches rules on, off or into shadow; `lists` are the values of `$name` in a rule.

    `packs` does the same with the rules of a folder `packs/NAME/`, each of which is off until then.

    `locked` are rules, by id or glob, that uploaded layers may only tighten. `overrides` change rows of rosters, keyed by
    `roster/agent`.

    `shell_tools` maps each tool that runs a shell line to its input key; `path_keys` are the input keys that hold
    paths; `patch_tools` maps a tool to the key that holds a patch; `agent_tools` start sub-agents. No rule with `modes`
    applies to the tools in `never_block`. `lookups` says whether shell lines that look things up are look-ups like those
    of `lookup_tools` (`class`), or only the tools themselves are, each by its own name (`tool`). `model_aliases` says in which
    sessions an agent call gets a model's alias: where the alias is `known` to name a model of the session's provider, `always`
    or `never`. `headless` says whether a question of a run without a person is refused by the client, or becomes a request.
    `aliases` are other names of agents; `hook_settings`, `baton_home` and
    `startup_files` are path globs.
    """

    rules: dict[str, Switch] = msgspec.field(default_factory=dict)
    packs: dict[str, Switch] = msgspec.field(default_factory=dict)
    locked: list[str] = msgspec.field(default_factory=list)
    rosters: list[str] = msgspec.field(default_factory=list)
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    overrides: dict[str, RowOverride] = msgspec.field(default_factory=dict)
    never_block: list[str] = msgspec.field(default_factory=list)
    lookups: Literal["class", "tool"] = "class"
    model_aliases: Aliases = "known"
    headless: Literal["refuse", "request"] = "refuse"
    shell_tools: dict[str, str] = msgspec.field(default_factory=dict)
    patch_tools: dict[str, str] = msgspec.field(default_factory=dict)
    agent_tools: list[str] = msgspec.field(default_factory=list)
    path_keys: list[str] = msgspec.field(default_factory=list)
    hook_settings: list[str] = msgspec.field(default_factory=list)
    baton_home: list[str] = msgspec.field(default_factory=list)
    startup_files: list[str] = msgspec.field(default_factory=list)
    places: dict[str, list[str]] = msgspec.field(default_factory=dict)
    lists: dict[str, list[str | ProgramMatch]] = msgspec.field(default_factory=dict)


# JSON Schemas of policy files, for editors. Loading does not use them: it also checks constraints beyond a schema.

Kind = Literal["rule", "config", "roster", "pack"]
_TYPES: dict[Kind, type[Any]] = {"rule": RuleFile, "config": Config, "roster": Roster, "pack": Pack}


def json_schema() -> dict[Kind, dict[str, Any]]:
    """Return the schema of each kind of file, in JSON Schema 2020-12."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {kind: {"$schema": dialect, **msgspec.json.schema(of)} for kind, of in _TYPES.items()}


def file_text(schema: dict[str, Any]) -> str:
    """Return a schema in its file's form."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
