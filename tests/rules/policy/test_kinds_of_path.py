"""Many paths are searched by kinds, up to a limit; the rest counts as being everywhere."""

from baton.rules.call.places.places import Locator, own_names
from baton.rules.policy.matching.context import MOST, KindsOfPath

LOCATOR = Locator([], [], [], {"infra": ["infra/**", "**/*.tf"]})


def located(target, base, reach):
    return LOCATOR.places(target, base, "/w", "/w", reach)


def many(find):
    return KindsOfPath(find, LOCATOR.alike_names, own_names("", ("/w", "/w")), LOCATOR.everywhere)


def test_paths_of_one_kind_are_looked_up_once():
    asked = []
    places = many(lambda target, base, reach: asked.append(target) or located(target, base, reach))
    assert {places.places_of(f"page{n}", "", "file") for n in range(5_000)} == {frozenset({"work"})}
    assert len(asked) == 1


def test_a_path_of_another_kind_is_found_among_them():
    places = many(located)
    found = [places.places_of(path, "", "tree") for path in [*(f"page{n}" for n in range(5_000)), "main.tf", "/"]]
    assert "infra" in found[-2]
    assert "root" in found[-1]


def test_kinds_beyond_the_limit_are_everywhere():
    places = many(located)
    found = [places.places_of(f"$x{n}/a", "", "file") for n in range(MOST + 1)]
    assert found[0] == located("$x0/a", "", "file")
    assert found[-1] == LOCATOR.everywhere
    assert places.places_of("$x0/a", "", "file") == found[0]
