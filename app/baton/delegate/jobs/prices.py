"""What tokens cost by tier, in USD for a million. It knows no model: a tier stands for those that a team takes for it."""

import re

import msgspec

TIERS = ("CHEAP", "MEDIUM", "EXPENSIVE")
_PART = re.compile(r"(CHEAP|MEDIUM|EXPENSIVE)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")
_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """USD for a million tokens that go in, and that come out."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Give what so many tokens cost, in USD."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


def read(text: str) -> dict[str, Price]:
    """Read prices such as `CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25`.

    Raises:
        ValueError: a tier is missing, named twice, or its prices are no numbers.
    """
    parts = text.split()
    found = [_PART.fullmatch(part) for part in parts]
    prices = {one[1]: Price(float(one[2]), float(one[3])) for one in found if one is not None}
    if set(prices) != set(TIERS) or len(parts) != len(TIERS):
        raise ValueError(
            f"`{text}` does not give each tier its price; it looks like `CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25`"
        )
    return prices


def price_of(prices: dict[str, Price], tier: str) -> Price:
    """Give the price of a tier; a job of none counts as the expensive one, so that no saving is made up."""
    return prices.get(tier, prices["EXPENSIVE"])
