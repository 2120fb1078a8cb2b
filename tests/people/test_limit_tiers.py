"""A route with two limits: each counts separately, in any order of checks."""

import pytest

from baton.kernel.base.errors import RateLimited
from baton.kernel.base.settings import Settings
from baton.people.rate_limits import RateLimits


def ask(limits, tiers, who="default/ada"):
    for tier in tiers:
        limits.check(tier, who)


@pytest.mark.parametrize("tiers", [("admin", "expensive"), ("expensive", "admin")], ids=" then ".join)
def test_the_smaller_of_two_limits_counts(tiers):
    limits = RateLimits(Settings(admin_per_minute=10, expensive_per_minute=2))
    for _ in range(2):
        ask(limits, tiers)
    with pytest.raises(RateLimited, match="2 requests a minute"):
        ask(limits, tiers)
    ask(limits, ["admin"])


def test_a_limit_of_zero_is_no_limit():
    limits = RateLimits(Settings(expensive_per_minute=0))
    for _ in range(50):
        ask(limits, ["expensive"])
