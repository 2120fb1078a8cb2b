"""The agents of a roster as they arrive (in a request, in files, in the policy set), checked for routing."""

from collections.abc import Container, Mapping, Sequence
from hashlib import blake2b

import msgspec

from baton.kernel.base.errors import Invalid
from baton.lib.router.agents import LARGEST_ALL, Agent, AgentFileError, TriggerError, read, size
from baton.lib.router.index import LONGEST_BODY, LONGEST_DESCRIPTION
from baton.machines.inventory import Inventory
from baton.route.prompt import InlineRoster
from baton.rules.agents.rosters import Roster, Rosters, Row
from baton.rules.call.agent_tools import GENERAL_AGENTS
from baton.rules.call.call import OwnAgent

MOST_AGENTS = 2_000  # agents of one roster
LONGEST_NAME = 200
MOST_TEXT = 8_000_000
"""Characters of a roster that are indexed; a second for each million where no two words are alike, less than that else."""
MOST_EXAMPLES_TEXT = 2_000_000
"""Characters of a roster's examples; each word of them is looked up in the table of vectors."""


class _InlineAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a prompt's request; null counts as absent."""

    name: str
    description: str | None = None
    body: str | None = None
    triggers: list[str] | None = None
    capabilities: list[str] | None = None
    examples: list[str] | None = None

    def agent(self) -> Agent:
        return Agent(
            name=self.name.strip(),
            description=self.description or "",
            body=self.body or "",
            triggers=tuple(self.triggers or ()),
            capabilities=tuple(self.capabilities or ()),
            examples=tuple(self.examples or ()),
        )


def inline_agents(inline: InlineRoster) -> list[Agent]:
    """Read the roster of a prompt. Of two agents of one name the first counts.

    Raises:
        Invalid: If it is not a list of agents, or one is unroutable; it names the agent and its field.
    """
    try:
        given = msgspec.json.decode(inline.raw, type=list[_InlineAgent])
    except msgspec.ValidationError as error:
        # msgspec says "Expected `str`, got `int` - at `$[0].name`": the path becomes the name of the field.
        text, _, at = str(error).partition(" - at `$")
        raise Invalid(f"roster{at.rstrip('`')}", f"is wrong: {text[0].lower()}{text[1:]}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Invalid("roster", f"is not a list of agents: {error}") from None
    if len(given) > MOST_AGENTS:
        raise Invalid("roster", f"has {len(given)} agents; at most {MOST_AGENTS} are allowed")
    agents = [one.agent() for one in given]
    expressions = sum(check_agent(agent, f"roster[{number}]") for number, agent in enumerate(agents))
    _check_size("roster", agents, expressions)
    return first_of_each_name(agents)


def agents_in(files: Mapping[str, str]) -> list[Agent]:
    """Read the agents of files by path: Claude Code's markdown as it is, YAML with activation triggers.

    Raises:
        Invalid: If a file contains no agent or an unroutable one, or two contain the same name.
    """
    paths: dict[str, str] = {}
    agents: list[Agent] = []
    expressions = 0
    for path in sorted(files):
        try:
            agent = read(path, files[path])
        except AgentFileError as error:
            raise Invalid(f"files.{path}", str(error)) from None
        if agent.name in paths:
            raise Invalid(f"files.{path}", f"names its agent `{agent.name}`, as `{paths[agent.name]}` does")
        expressions += check_agent(agent, f"files.{path}")
        paths[agent.name] = path
        agents.append(agent)
    _check_size("files", agents, expressions)
    return agents


def policy_agents(roster: Roster) -> list[Agent]:
    """Return an agents table's rows for routing. Rows such as `_default` are no agents."""
    return [_of_row(name, row or Row()) for name, row in roster.agents.items() if not name.startswith("_")]


def present_agents(
    rosters: Rosters, inventory: Inventory | None, pushed: Container[str]
) -> tuple[tuple[Agent, ...], dict[str, str]]:
    """Return the agents present without a push, and the agents of each table.

    They come from the team's own agents tables and from the session's client. A shipped table adds no agents: it only
    describes agents of its plugin.
    """
    found: dict[str, Agent] = {}
    homes: dict[str, str] = {}
    for table in (rosters.by_id[one] for one in rosters.order if one in rosters.own):
        for agent in policy_agents(table):
            if agent.name not in pushed and agent.name not in GENERAL_AGENTS and agent.name not in found:
                found[agent.name], homes[agent.name] = agent, table.id
    for own in inventory.agents if inventory else ():
        if own.name not in pushed and own.name not in found:
            found[own.name] = _of_file(own, rosters)
    return tuple(found.values()), homes


def _of_file(own: OwnAgent, rosters: Rosters) -> Agent:
    match = rosters.resolve(own.name) if own.source == "plugin" else None
    row = Row() if match is None or match.skill else match.row
    return Agent(
        name=own.name,
        description=own.description or row.description,
        body=row.description,
        triggers=tuple(row.triggers),
    )


def _of_row(name: str, row: Row) -> Agent:
    return Agent(name=name, description=row.description, body=row.prompt, triggers=tuple(row.triggers))


def check_agents(agents: Sequence[Agent]) -> None:
    """Check the agents of a pushed roster.

    Raises:
        Invalid: If there is none, one is unroutable, or two have the same name.
    """
    if not agents:
        raise Invalid("agents", "is empty; a roster needs at least one agent")
    first: dict[str, int] = {}
    expressions = 0
    for number, agent in enumerate(agents):
        expressions += check_agent(agent, f"agents[{number}]")
        if first.setdefault(agent.name, number) != number:
            raise Invalid(
                f"agents[{number}].name", f"is `{agent.name}`, the same as that of agents[{first[agent.name]}]"
            )
    _check_size("agents", agents, expressions)


def _check_size(field: str, agents: Sequence[Agent], expressions: int) -> None:
    """Check that indexing a roster, and comparing a prompt with it, takes bounded time.

    Raises:
        Invalid: If its texts or the expressions of its triggers are too large together.
    """
    if expressions > LARGEST_ALL:
        raise Invalid(
            field,
            f"have triggers whose expressions come to {expressions} instructions of RE2; at most {LARGEST_ALL} are"
            " allowed: shorten them, or write words instead",
        )
    indexed = sum(min(len(one.body), LONGEST_BODY) + min(len(one.description), LONGEST_DESCRIPTION) for one in agents)
    indexed += sum(sum(map(len, one.capabilities)) + sum(map(len, one.triggers)) for one in agents)
    if indexed > MOST_TEXT:
        raise Invalid(
            field, f"hold {indexed} characters that are indexed; at most {MOST_TEXT} are allowed in one roster"
        )
    examples = sum(sum(map(len, one.examples)) for one in agents)
    if examples > MOST_EXAMPLES_TEXT:
        raise Invalid(
            field, f"hold {examples} characters of examples; at most {MOST_EXAMPLES_TEXT} are allowed in one roster"
        )


def check_agent(agent: Agent, where: str) -> int:
    """Check that an agent is routable, and return the size of its triggers' expressions.

    `where` is its field.

    Raises:
        Invalid: If its name or a trigger is wrong, with the reason.
    """
    if not agent.name.strip() or not agent.name.isprintable():
        raise Invalid(f"{where}.name", "is blank, or holds characters that cannot be shown")
    if len(agent.name) > LONGEST_NAME:
        raise Invalid(f"{where}.name", f"has {len(agent.name)} characters; at most {LONGEST_NAME} are allowed")
    expressions = 0
    for trigger in agent.triggers:
        try:
            expressions += size(trigger)
        except TriggerError as error:
            raise Invalid(f"{where}.triggers", f"`{trigger[:100]}` {error}") from None
    return expressions


def first_of_each_name(agents: Sequence[Agent]) -> list[Agent]:
    """Return the agents without later namesakes."""
    first: dict[str, Agent] = {}
    for agent in agents:
        first.setdefault(agent.name, agent)
    return list(first.values())


def digest_of(agents: Sequence[Agent]) -> str:
    """Return a name for the content of a roster: the same agents have the same digest."""
    return blake2b(msgspec.json.encode(agents), digest_size=16).hexdigest()
