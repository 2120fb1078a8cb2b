"""The rule hits of decisions, as the column `rules` holds them."""

from functools import lru_cache

import msgspec

from baton.engine.call.verdict import RuleHit

_decode = msgspec.json.Decoder(tuple[RuleHit, ...]).decode


@lru_cache(maxsize=4_096)
def hits_in(rules: str) -> tuple[RuleHit, ...]:
    """Return the rule hits of a JSON text; the same few texts come again in each hour."""
    return _decode(rules)
