"""The services of a server, by their type."""

import msgspec
import pytest

from baton.kernel.http.features import Features


class Clock:
    pass


class One(msgspec.Struct):
    clock: Clock


class Other(msgspec.Struct):
    spare: Clock


def test_a_second_service_of_a_type_is_refused_and_a_shared_one_is_not():
    features, clock = Features(), Clock()
    features.add(One(clock))
    features.add(Other(clock))
    with pytest.raises(TypeError, match=r"`Other\.spare` is a second `Clock`"):
        features.add(Other(Clock()))
    assert features.get(Clock) is clock
