"""The type of every point in time that a request names."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel
from pydantic_core import PydanticCustomError


def _in_utc(moment: datetime) -> datetime:
    """Convert to UTC here, where a failure still names its field: `0001-01-01T00:00:00+14:00` has no UTC date."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment_out_of_range", "must lie within the years 1 to 9999 in UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A point in time with a zone, converted to UTC."""


class PeriodQuery(BaseModel):
    """The period that a request is about; each endpoint says what it is without `since`."""

    since: Moment | None = None
    until: Moment | None = None
