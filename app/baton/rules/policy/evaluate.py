"""Decide one tool call by all its rules: deny, else ask, else rewrite, else allow, else no opinion."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from baton.clients.registry import can_ask, words_of
from baton.lib.bash.model import Category
from baton.rules.agents.rosters import agent_name
from baton.rules.call.agent_tools import may_rewrite
from baton.rules.call.call import ToolCall, is_mcp_tool
from baton.rules.call.mcp_writers import only_looks
from baton.rules.call.modes import Freeze
from baton.rules.call.verdict import Facts, RuleHit, Verdict
from baton.rules.policy.matching import wording
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import GUESS, Findings, LiveRule, Outcome, PolicySet, Rule, live_rules

_Effect = Literal["deny", "ask", "rewrite", "allow", "guidance"]
_Match = tuple[Rule, _Effect, dict[str, str]]  # a matching rule, its effect, and its findings by placeholder
FREEZE_RULE = "limits/freeze"
_READS: set[Category] = {"read-only", "vcs-read"}
_HARMLESS_TOOLS = frozenset({
    *("Agent", "Task", "Read", "Grep", "Glob", "LS", "NotebookRead", "read", "grep", "glob", "list", "view", "read_file"),
    *("read_many_files", "list_dir", "list_directory", "grep_search", "search_file_content", "codebase_search", "file_search"),
    *("TodoWrite", "TodoRead", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "BashOutput"),
    *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "WebSearch", "ToolSearch", "todowrite", "todoread"),
    *("write_todos", "update_plan", "ask_user"),
})  # fmt: skip
"""Tools that change nothing outside the conversation; the calls of a started agent are judged too. Not a list of config.yaml: a layer could add to that one."""
_NOTHING = Outcome()
_RANK: dict[_Effect, int] = {"deny": 5, "ask": 4, "rewrite": 3, "guidance": 2, "allow": 1}


def evaluate(policies: PolicySet, facts: Facts, context: Context | None = None) -> Verdict:
    """Return the verdict on a call. The rewritten call is judged too, and may be refused.

    `context` is an unused context of these policies and the same call under facts without its history, if there is one.
    """
    if context is None:
        context = Context(policies, facts)
    else:
        context.learn(facts)
    verdict = _judge(context)
    if facts.freeze is not None and verdict.effect != "deny" and not (facts.freeze.read_only and _only_reads(context)):
        return _frozen(facts.freeze, verdict)
    if verdict.updated_input is None:
        return verdict
    # Judged only once more: two rewrites undoing each other would never end.
    rewritten_context = Context(policies, _with_input(facts, verdict.updated_input))
    rewritten_context.spent = context.spent
    return _stricter(verdict, _judge(rewritten_context))


def refused_within(context: Context) -> int | None:
    """Return among how many of the session's last calls one like this makes a rule refuse it; None if no rule surely does.

    A freeze or a rule refuses it whatever the session did before: 0. An approval may still let it pass, where a client cannot
    ask.
    """
    facts, locked = context.facts, context.policies.locked
    if facts.freeze is not None and not (facts.freeze.read_only and _only_reads(context)):
        return 0
    within = None
    for rule, number, checks in live_rules(context).stopping:
        is_in_force = rule.id not in facts.lifted or rule.id in locked
        if (
            is_in_force
            and is_refused(context.call.client, rule.decision)
            and not (rule.modes and facts.level == "guidance")
            and all(one.holds(context) for one in checks)
        ):
            if not number:
                return 0
            within = max(within or 0, number)
    return within


def _only_reads(context: Context) -> bool:
    """Return whether a call surely changes nothing: a tool known for it, or a line of programs that only read."""
    shell = context.reading.guessed or context.shell
    if shell is None:
        tool = context.call.tool_name
        return tool in _HARMLESS_TOOLS or (is_mcp_tool(tool) and only_looks(tool))
    return (
        not (shell.unparsed or shell.writes or shell.feeds)
        and shell.categories != ()
        and set(shell.categories) <= _READS
    )


def _frozen(freeze: Freeze, verdict: Verdict) -> Verdict:
    whose, place = (mark.join(filter(None, (freeze.scope, freeze.id))) for mark in " :")
    until = f" until {freeze.expires_at:%Y-%m-%d %H:%M} UTC" if freeze.expires_at else ""
    what = "calls that may change something are stopped" if freeze.read_only else "all tool calls are stopped"
    why = f": {freeze.reason}" if freeze.reason else ""
    return Verdict(
        effect="deny",
        rule=FREEZE_RULE,
        hits=(RuleHit(FREEZE_RULE, "deny"), *verdict.hits),
        reason=(
            f"Baton is frozen ({whose}){until} by {freeze.set_by}{why}. During the freeze {what}. Stop, report your"
            f" state to the person, and wait. {freeze.set_by} or an admin ends it: `baton freeze --end --scope {place}`."
        ),
        shell=verdict.shell,
        model=verdict.model,
    )


def rewritten(policies: PolicySet, facts: Facts) -> Facts:
    """Return the facts of the rewritten call; the same object if unchanged."""
    changed = _judge(Context(policies, facts)).updated_input
    return facts if changed is None else _with_input(facts, changed)


def _with_input(facts: Facts, tool_input: dict[str, Any]) -> Facts:
    return msgspec.structs.replace(facts, call=msgspec.structs.replace(facts.call, tool_input=tool_input))


def _stricter(verdict: Verdict, rewritten_verdict: Verdict) -> Verdict:
    """Return the verdict on the rewritten call if it is stricter: deny or ask, unlike the call's own."""
    if rewritten_verdict.effect not in ("deny", "ask") or rewritten_verdict.effect == verdict.effect:
        return verdict
    asks = rewritten_verdict.effect == "ask"
    return msgspec.structs.replace(
        rewritten_verdict,
        hits=(*rewritten_verdict.hits, *(hit for hit in verdict.hits if hit not in rewritten_verdict.hits)),
        updated_input=verdict.updated_input if asks else None,
        message=verdict.message if asks else "",
        notice=verdict.notice if asks else "",
        shell=verdict.shell,
        model=verdict.model,
    )


def _judge(context: Context) -> Verdict:
    """Ask the rules left open by the call's reading, and weigh all matches.

    The result is cached with the reading: it depends only on the findings of the open rules.
    """
    live = live_rules(context)
    findings = tuple([_ask(context, one) for one in live.open]) if live.open else ()
    # Lifted rules and accepted rewrites differ between sessions; the cache does not, so such calls bypass it.
    if context.facts.lifted or context.facts.accepts_rewrites:
        return _verdict(context, _weigh(context, *_matches(context, live.rules, iter(findings))))
    verdict = live.verdicts.get(findings)
    if verdict is not None and not context.blind and not context.errors:
        return verdict
    outcome = live.outcomes.get(findings)
    if outcome is None:
        outcome = _weigh(context, *_matches(context, live.rules, iter(findings)))
        live.keep(findings, outcome)
    verdict = _verdict(context, outcome)
    # A reason names the session, and a rewrite contains the call's own input.
    if outcome.reason is None and not outcome.changes and not context.blind and not context.errors:
        live.keep_verdict(findings, verdict)
    return verdict


def _ask(context: Context, rule: LiveRule) -> Findings:
    context.found = {}
    return tuple(context.found.items()) if rule.matches(context) else None


def _matches(
    context: Context, rules: tuple[LiveRule, ...], asked: Iterator[Findings]
) -> tuple[list[_Match], list[RuleHit]]:
    """Sort the matching rules into effective ones and only recorded ones."""
    if not rules:
        return [], []
    call, facts = context.call, context.facts
    words = words_of(call.client)
    common = words.placeholders(call.tool_name)
    rewrites = may_rewrite(call.tool_name, facts.accepts_rewrites)
    matches: list[_Match] = []
    silent: list[RuleHit] = []
    for live in rules:
        answer = next(asked) if live.found is None else live.found
        if answer is None:
            continue
        found = dict(answer)
        rule = live.rule
        # A rule matching without guesses has been listed already.
        if GUESS in found and (
            any(rule is listed for listed, _, _ in matches) or any(rule.id == hit.id for hit in silent)
        ):
            continue
        if rule.shadow or (rule.decision == "rewrite" and not (rewrites and words.takes(rule.set))):
            silent.append(RuleHit(rule.id, "shadow"))
        elif rule.id in facts.lifted and rule.id not in context.policies.locked:  # it may be locked since
            silent.append(RuleHit(rule.id, "lifted"))
        else:
            effect = _effect(rule, facts)
            # The words after an unknown program may be mere text: instead of a refusal, a person decides.
            matches.append((rule, "ask" if effect == "deny" and GUESS in found else effect, common | found))
    return matches, silent


def _effect(rule: Rule, facts: Facts) -> _Effect:
    if rule.modes and facts.level == "guidance" and rule.decision in ("deny", "ask"):
        return "guidance"
    return rule.decision


def _rank(match: _Match) -> int:
    rule, effect, _ = match
    # A refusal reduced to a question by a guess outranks a rule that only asks.
    return _RANK[effect] * 2 + (effect == "ask" and rule.decision == "deny")


def _weigh(context: Context, matches: list[_Match], silent: list[RuleHit]) -> Outcome:
    """Let the strongest match decide (of equals the first by id), and fill in its texts."""
    if not matches:
        return Outcome(hits=tuple(silent)) if silent else _NOTHING
    rule, effect, found = max(matches, key=_rank) if len(matches) > 1 else matches[0]
    if effect != "allow" and len(matches) > 1:
        matches = [match for match in matches if match[1] != "allow"]
    context.found = found
    reason, suggestion = wording.fill(rule.reason, found), rule.suggestion(context)
    if GUESS in found:
        reason = wording.guessed(reason, found)
    guidance = wording.allowed(reason) if effect == "allow" else ""
    if effect != "deny" and context.facts.level == "guidance":
        guidance, suggestion = _softened(context, matches, effect, guidance, suggestion)
    changes, message, notice = ({}, "", "") if effect == "deny" else _rewrite(context, matches)
    return Outcome(
        effect="allow" if effect == "guidance" else effect,
        rule=rule.id,
        hits=(*[RuleHit(match.id, match_effect) for match, match_effect, _ in matches], *silent),
        reason=_reason(context, rule, effect, reason, suggestion),
        guidance=guidance,
        suggestion=suggestion,
        changes=changes,
        message=message,
        notice=notice,
    )


def _softened(
    context: Context, matches: list[_Match], effect: _Effect, guidance: str, suggestion: str
) -> tuple[str, str]:
    """Return guidance and suggestion of the first refusal softened by the guidance level, if any.

    They accompany the actual decision: otherwise a rewrite or a question would hide the advice.
    """
    match = next((match for match in matches if match[1] == "guidance"), None)
    if match is None:
        return guidance, suggestion
    rule, _, context.found = match
    return (
        wording.softened(wording.fill(rule.reason, context.found)),
        suggestion if effect == "ask" else rule.suggestion(context),
    )


def _rewrite(context: Context, matches: list[_Match]) -> tuple[dict[str, Any], str, str]:
    """Combine the input keys set by rewrites; for equal keys, a locked rule wins, then the first by id.

    Returns:
        The keys with their values, the rules' messages, and the notice to the person.
    """
    changes: dict[str, Any] = {}
    messages: list[str] = []
    notices: list[str] = []
    locked = context.policies.locked
    for rule, effect, found in sorted(matches, key=lambda match: match[0].id not in locked) if locked else matches:
        if effect == "rewrite":
            context.found = found
            changes = rule.changes(context) | changes
            messages.append(wording.fill(rule.reason, found))
            if shown := sorted(rule.set.keys() - {"model"}):
                notices.append(wording.rewritten(rule.id, shown, context.call.tool_name, messages[-1]))
    return changes, "\n".join(messages), "\n".join(notices)


def _reason(context: Context, rule: Rule, effect: _Effect, reason: str, suggestion: str) -> wording.Frame | None:
    client = context.call.client
    if effect == "deny" and rule.modes:
        return wording.orchestrator_deny(reason, suggestion, client)
    if effect == "deny":
        way = wording.way_out(rule.id, rule.source, locked=rule.id in context.policies.locked)
        return wording.deny(reason, suggestion, way)
    return wording.ask(reason, suggestion, client) if effect == "ask" else None


def _verdict(context: Context, outcome: Outcome) -> Verdict:
    """Add the call's own parts to a shared outcome: session, agent, the full input."""
    call = context.call
    reason = ""
    if outcome.reason is not None:
        before, after = outcome.reason
        held = wording.HELD if context.reading.is_held else ""
        after = wording.addressed(after, context.facts.principal.user)
        reason = f"{before}{held}{wording.where(outcome.rule, call)}{after}"
    return Verdict(
        effect=outcome.effect,
        rule=outcome.rule,
        hits=outcome.hits,
        reason=reason,
        guidance=outcome.guidance,
        suggestion=outcome.suggestion,
        updated_input=call.tool_input | outcome.changes if outcome.changes else None,
        message=outcome.message,
        notice=outcome.notice,
        shell=context.shell,
        model=context.model,
        blind=tuple(sorted(context.blind)) if context.blind else (),
        errors=tuple(sorted(context.errors)) if context.errors else (),
    )


def is_refused(client: str, effect: str) -> bool:
    """Return whether a verdict keeps the client from running the call. A question does if nobody can be asked."""
    return effect == "deny" or (effect == "ask" and not can_ask(client))


def with_id(verdict: Verdict, decision_id: str) -> Verdict:
    """Return a refusal with the id that a request for an exception names."""
    if wording.DECISION_ID not in verdict.reason:
        return verdict
    return msgspec.structs.replace(verdict, reason=verdict.reason.replace(wording.DECISION_ID, decision_id))


def started_agent(policies: PolicySet, call: ToolCall, verdict: Verdict) -> str:
    """Return the agent that a call starts, "" for none."""
    if call.tool_name not in policies.agent_tools:
        return ""
    return agent_name(verdict.updated_input or call.tool_input, call.client) or ""
