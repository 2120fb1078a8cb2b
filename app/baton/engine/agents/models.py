"""Which model an agent gets, and who decided that: the call, its own file, the team's row, the shipped roster, its default."""

from baton.engine.agents.rosters import INHERIT, LEAVE_ALONE, MODELS, AgentMatch
from baton.engine.call.agent_model import ModelChoice, OwnAgent
from baton.engine.text.yaml_lines import did_you_mean

_SHOWN = 100


def wrong_model(model: str) -> str:
    """Return what is wrong with the model of a row, "" for nothing: a misspelt alias must not count as somebody's full id."""
    known = sorted({INHERIT, LEAVE_ALONE, *MODELS})
    if model in {"", *known} or (model.isprintable() and any(c.isdigit() for c in model) and " " not in model):
        return ""
    allowed = ", ".join(f"`{one}`" for one in known)
    return f"is `{model[:_SHOWN]}`{did_you_mean(model, known)}; allowed: {allowed}, or a model's full id"


def choose(asked: str, own: OwnAgent | None, found: AgentMatch | None) -> ModelChoice:
    """Return the model of an agent.

    Args:
        asked: The model that the call or request names, "" for none.
        own: The agent's own file, None if it is not known.
        found: The agent's row in the rosters, None if they do not know it.
    """
    if asked:
        return ModelChoice(full=asked, step="call", reason=f"the call says `{asked[:_SHOWN]}`")
    if own is not None and own.model:
        # The client follows the file by itself: a rewrite could only contradict it, and a full id makes a call fail.
        full = "" if own.model == INHERIT else own.model
        whose = f"the {own.source}'s file" if own.source != "managed" else "the machine's file"
        return ModelChoice(
            full=full,
            step="agent-file",
            reason=f"{whose} of `{own.name}` says `model: {own.model}`, which the client follows",
        )
    if found is None or found.skill:
        return ModelChoice(reason="no file and no roster names a model for this agent; the client decides")
    row = f"`{found.roster}/{found.name}`"
    if found.step == "default":
        who = f"the default of the roster `{found.roster}`"
    else:
        who = f"the team's row {row}" if found.step == "team-row" else f"the shipped row {row}"
    if found.full == LEAVE_ALONE:
        return ModelChoice(step=found.step, reason=f"{who} says `{LEAVE_ALONE}`; the client decides")
    name = found.model or ""
    if not name:
        return ModelChoice(
            full=found.full, step=found.step, reason=f"{who} says `{found.full}`, which no call of the client takes"
        )
    meant = "" if found.full == name else f" (`{found.full}`)"
    return ModelChoice(name=name, full=found.full, step=found.step, reason=f"{who} says `{name}`{meant}")
