"""Structs in answers: the fields that a model takes over, leaves out, adds, or shows only where they are not empty."""

from typing import Annotated

import msgspec
import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from baton.kernel.http.fields import ApiModel, Shown, request_body
from tests.support.cases import every


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    """A wheel."""

    inches: int
    secret: str = "abc"


class Bicycle(msgspec.Struct, frozen=True, kw_only=True):
    """A bicycle."""

    name: str
    owner: str = ""
    gears: int | None = None
    wheels: tuple[Wheel, ...] = ()

    @property
    def count(self) -> int:
        return len(self.wheels)


ONE = Bicycle(name="red", wheels=(Wheel(inches=28),))
WHEELS = [{"inches": 28, "secret": "abc"}]
SHOWN_WHEEL = Annotated[Wheel, ApiModel(without=("secret",))]


@every(
    ("kind", "name", "shown", "may_be_absent"),
    [
        (Shown[Bicycle], "BicycleModel", {"name": "red", "owner": "", "wheels": WHEELS}, {"gears"}),
        (
            Annotated[Bicycle, ApiModel("Bike", blank=("owner",), without=("wheels",))],
            "Bike",
            {"name": "red"},
            {"gears", "owner"},
        ),
        (
            Annotated[Bicycle, ApiModel(without=("owner", "gears"), count=int, wheels=list[SHOWN_WHEEL])],
            "BicycleModel",
            {"name": "red", "wheels": [{"inches": 28}], "count": 1},
            set(),
        ),
        (
            Annotated[
                Bicycle,
                ApiModel(
                    without=("owner", "gears", "wheels", "name"), title=Annotated[str, Field(validation_alias="name")]
                ),
            ],
            "BicycleModel",
            {"title": "red"},
            set(),
        ),
    ],
)
def test_an_answer_has_the_fields_of_its_struct_as_its_model_says(kind, name, shown, may_be_absent):
    adapter = TypeAdapter(kind)
    assert adapter.dump_python(adapter.validate_python(ONE), mode="json", exclude_none=True) == shown
    schema = adapter.json_schema(mode="serialization")
    assert (schema["title"], schema["description"]) == (name, "A bicycle.")
    assert set(schema["properties"]) - set(schema.get("required", ())) == may_be_absent


class Body(BaseModel):
    """A body."""

    model_config = request_body({"text": "abc"}, longest=3)
    text: str


@pytest.mark.parametrize("given", [{"text": "abcd"}, {"text": "a", "other": 1}])
def test_a_body_takes_no_other_field_and_no_longer_text(given):
    with pytest.raises(ValidationError):
        Body.model_validate(given)
    assert Body.model_json_schema()["examples"] == [{"text": "abc"}]
