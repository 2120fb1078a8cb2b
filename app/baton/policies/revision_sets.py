"""Build the policy set of a revision that was in force once, from its texts."""

import asyncio
from collections.abc import Mapping

import msgspec

from baton.engine.policy.load import PolicyProblems, PolicySet, load
from baton.engine.policy.rules.layers import Layer
from baton.engine.policy.rules.locks import ALL_UNLOCKED
from baton.policies.layer_rights import place_of
from baton.policies.layers import refusal


async def set_of(texts: Mapping[str, str]) -> PolicySet:
    """Return the set of a revision, given its texts by source. Its locks were checked when it came into force.

    Raises:
        PoliciesRefused: If this version of Baton no longer accepts it.
    """
    try:
        return await asyncio.to_thread(load, layers_of(texts), ALL_UNLOCKED)
    except PolicyProblems as refused:
        raise refusal(refused.problems) from None


def layers_of(texts: Mapping[str, str]) -> list[Layer]:
    """Return the layers of a revision, given its texts by source."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for source, text in texts.items():
        found.setdefault(place_of(source), {})[source.rpartition(":")[2]] = text
    return [
        msgspec.convert({"tier": tier, "name": name, "files": files}, Layer) for (tier, name), files in found.items()
    ]
