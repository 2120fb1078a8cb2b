"""What jobs cost: prices by tier, and sums of jobs that are priced by them."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

CostGrouping = Literal["tier", "provider", "user", "team", "day", "agent_type"]
TIERS = ("CHEAP", "MEDIUM", "EXPENSIVE")
_PART = re.compile(r"(CHEAP|MEDIUM|EXPENSIVE)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?")
_CACHED = 0.1
"""What a token from the cache costs where no price is given, as a part of an input token: vendors take about a tenth."""
_MILLION = 1_000_000
_TIER_OF_MODEL = {"haiku": "CHEAP", "sonnet": "MEDIUM", "opus": "EXPENSIVE", "fable": "EXPENSIVE"}
"""The price tier of a model, by a part of its name."""


class Price(msgspec.Struct, frozen=True):
    """USD for a million input tokens, output tokens, and input tokens from the model's cache."""

    input: float
    output: float
    cached: float

    def of(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in USD; `input_tokens` are all that was read, also from the cache."""
        read = (input_tokens - cached_tokens) * self.input + cached_tokens * self.cached
        return (read + output_tokens * self.output) / _MILLION


class JobTotals(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs a group has, how they ended, and the tokens that they used."""

    group: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class JobSum(JobTotals, frozen=True, kw_only=True):
    """The sum of one group's jobs of one tier.

    Attributes:
        tier: The price tier of their models.
        priced_input: Input tokens of jobs whose agent did not say what they cost, so that the tier's price counts.
        priced_cached: Those of them that came from the cache.
        priced_output: Output tokens of the same jobs.
        cost_usd: What the agents of the other jobs said.
    """

    tier: str
    priced_input: int
    priced_cached: int
    priced_output: int
    cost_usd: float


class JobCosts(JobTotals, frozen=True, kw_only=True):
    """The costs of one group's jobs.

    Attributes:
        usd: What the agents said, and the tier's prices where they said nothing.
        expensive_usd: What the same tokens would have cost on the expensive tier.
    """

    usd: float
    expensive_usd: float
    saved_usd: float


def parse_prices(text: str) -> dict[str, Price]:
    """Parse prices such as `CHEAP=1/5 MEDIUM=3/15/0.3 EXPENSIVE=5/25`: input, output, and input from the cache.

    Without the last, a token from the cache costs a tenth of an input token.

    Raises:
        ValueError: If a tier is missing or named twice, or a price is not a number.
    """
    parts = text.split()
    found = [_PART.fullmatch(part) for part in parts]
    prices = {
        one[1]: Price(float(one[2]), float(one[3]), float(one[4]) if one[4] else float(one[2]) * _CACHED)
        for one in found
        if one is not None
    }
    if set(prices) != set(TIERS) or len(parts) != len(TIERS):
        raise ValueError(
            f"`{text}` is not a price for each tier; it must look like `CHEAP=1/5/0.1 MEDIUM=3/15/0.3 EXPENSIVE=5/25/0.5`"
        )
    return prices


def price_of_call(
    prices: Mapping[str, Price], model: str, input_tokens: int, cached_tokens: int, output_tokens: int
) -> float | None:
    """Return what an agent call of a session cost in USD, None if no tier has a price for its model."""
    tier = next((tier for name, tier in _TIER_OF_MODEL.items() if name in model.casefold()), None)
    # Clients do not count a call's cached tokens as input tokens; jobs do.
    return None if tier is None else prices[tier].of(input_tokens + cached_tokens, cached_tokens, output_tokens)


def costs_of(group: str, sums: Sequence[JobSum], prices: Mapping[str, Price]) -> JobCosts:
    """Price the sums of one group."""
    # A job without a tier is priced as an expensive one, so that no saving is made up.
    expensive = prices["EXPENSIVE"]
    usd = sum(
        one.cost_usd + prices.get(one.tier, expensive).of(one.priced_input, one.priced_cached, one.priced_output)
        for one in sums
    )
    input_tokens, output_tokens = sum(one.input_tokens for one in sums), sum(one.output_tokens for one in sums)
    cached_tokens = sum(one.cached_tokens for one in sums)
    expensive_usd = expensive.of(input_tokens, cached_tokens, output_tokens)
    return JobCosts(
        group=group,
        jobs=sum(one.jobs for one in sums),
        completed=sum(one.completed for one in sums),
        failed=sum(one.failed for one in sums),
        cancelled=sum(one.cancelled for one in sums),
        input_tokens=input_tokens,
        cached_tokens=cached_tokens,
        output_tokens=output_tokens,
        usd=round(usd, 6),
        expensive_usd=round(expensive_usd, 6),
        saved_usd=round(expensive_usd - usd, 6),
    )
