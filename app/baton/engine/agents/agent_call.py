"""Read a client's agent call as a spawn, with the purpose that it states.

No client's agent tool has fields for a purpose. So it may stand in the prompt, each on a line of its own
(`Expected outcome: a list of files`), or in the input under the names of `/spawn`.
"""

import re
from typing import Any

from baton.engine.agents.judge import METADATA, Spawn
from baton.engine.agents.rosters import AgentCall

_LOOKED_AT = 20_000
"""Characters of a prompt, from its beginning, that are searched for a purpose."""
_SAID = re.compile(
    r"^[ \t>*#-]{0,8}(delegation[ _]reason|expected[ _]outcome|required[ _]tools)[*]{0,2}:[*]{0,2}[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def spawn_of(call: AgentCall, tool_input: dict[str, Any], spawning_agent: str) -> Spawn:
    """Read an agent call; `spawning_agent` is the type of the calling agent, "" for none."""
    said: dict[str, Any] = {}
    for name, text in _SAID.findall(call.prompt[:_LOOKED_AT]):
        said.setdefault(name.lower().replace(" ", "_"), text.strip())
    said |= {name: tool_input[name] for name in METADATA if name in tool_input}
    return Spawn(
        agent_type=call.agent,
        prompt=call.prompt,
        description=call.description,
        spawning_agent=spawning_agent,
        delegation_reason=_text(said.get("delegation_reason")),
        expected_outcome=_text(said.get("expected_outcome")),
        required_tools=_list(said.get("required_tools")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word.strip("`'\"[]. ") for word in value.split(",") if word.strip("`'\"[]. "))
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
