"""Many cases in one test: separate tests would cost more than the cases."""

from collections.abc import Mapping


def listed(failures: Mapping[str, object], advice: str = "") -> str:
    """Return one line for each case that failed, whole, as pytest would cut a long dictionary."""
    return "\n".join([advice, *(f"{case}: {found}" for case, found in failures.items())])
