"""Rosters: the row of a name, and the model for an agent call."""

from baton.rules.agents.rosters import MODELS, Roster, Rosters, Row, agent_call
from tests.support.cases import every
from tests.support.shipped import shipped

ROSTER = Roster(
    id="one",
    description="x",
    namespaces=["one", "uno"],
    tiers=True,
    aliases={"scout": "explore"},
    skills=["ultrawork"],
    namespaced_skills=["plan"],
    agents={
        "explore": Row(model="haiku"),
        "architect": Row(model="opus"),
        "executor": None,
        "heir": Row(model="inherit"),
        "special-low": Row(model="opus"),
    },
)
OTHER = Roster(id="two", description="y", agents={"explore": Row(model="opus"), "only-two": Row(model="fable")})


def model(name, *, order=("one", "two"), aliases=None):
    found = Rosters({"one": ROSTER, "two": OTHER}, list(order), aliases or {}).resolve(name)
    return found.model if found else "unknown"


@every(
    ("name", "expected"),
    [
        ("explore", "haiku"),
        ("one:explore", "haiku"),
        ("uno:explore", "haiku"),
        ("scout", "haiku"),
        ("one:scout", "haiku"),
        ("executor", "sonnet"),
        ("heir", "sonnet"),
        ("explore-low", "haiku"),
        ("explore-high", "opus"),
        ("executor-low", "haiku"),
        ("executor-medium", "sonnet"),
        ("executor-high", "opus"),
        ("architect-medium", "opus"),
        ("one:architect-low", "haiku"),
        ("special-low", "opus"),
        ("only-two", "fable"),
    ],
)
def test_known_names(name, expected):
    assert model(name) == expected


@every(
    "name",
    ["", "other:explore", "Explore", "explore-highest", "nobody-high", "one:", ":explore", "only-two-high", "plan"],
)
def test_unknown_names(name):
    assert model(name) == "unknown"


def test_the_first_roster_that_knows_the_name_wins():
    assert model("explore", order=("two", "one")) == "opus"


def test_a_team_s_alias_precedes_all_rosters():
    assert model("finder", aliases={"finder": "one:architect"}) == "opus"
    assert model("explore", aliases={"explore": "architect"}) == "opus"


@every("name", ["ultrawork", "one:ultrawork", "one:plan"])
def test_skills_are_known_and_have_no_model(name):
    found = Rosters({"one": ROSTER}, ["one"], {}).resolve(name)
    assert found is not None
    assert (found.skill, found.model) == (True, None)


@every("change", [{"subagent_type": None}, {"prompt": 3}, {"description": ["x"]}, {"subagent_type": {}}])
def test_anything_but_three_texts_is_no_agent_call(change):
    full = {"subagent_type": "explore", "prompt": "p", "description": "d"}
    assert agent_call(full, "x") is not None
    assert agent_call(full | change, "x") is None
    assert agent_call({k: v for k, v in full.items() if k not in change}, "x") is None


def test_an_empty_model_or_null_is_absent():
    full = {"subagent_type": "explore", "prompt": "p", "description": "d"}
    assert [agent_call(full | {"model": m}, "x").model for m in ("", None, "opus")] == ["", "", "opus"]


TYPES = {
    "haiku": "explore explore-low style-reviewer writer Explore",
    "sonnet": "executor executor-medium debugger verifier designer qa-tester researcher tdd-guide general-purpose",
    "opus": "executor-high deep-executor architect critic analyst planner code-reviewer Plan",
}


@every(("expected", "names"), TYPES.items())
def test_the_shipped_rosters_give_the_models_that_the_design_fixes(expected, names):
    rosters = shipped().rosters
    assert {name: rosters.resolve(name).model for name in names.split()} == dict.fromkeys(names.split(), expected)
    for roster_id, roster in rosters.by_id.items():
        alone = rosters.alone(roster_id)
        wrappers = {name for name, row in roster.agents.items() if row.display_model and not row.model}
        assert {name for name in roster.agents if alone.resolve(name).model not in MODELS} == wrappers


@every(
    ("agent", "spawner", "roster"),
    [
        ("explore", "", "ultrapower"),
        ("dewey", "", "stravinsky"),
        ("explore", "nobody", "ultrapower"),
        ("explore", "delphi", "stravinsky"),
        ("planner", "explore", "ultrapower"),
        ("dewey", "explore", "stravinsky"),
        ("dewey", "Explore", "stravinsky"),
        ("dewey", "CODE_REVIEWER", "stravinsky"),
    ],
)
def test_a_start_without_a_roster_is_judged_where_both_agents_are_known(agent, spawner, roster):
    rosters = shipped().rosters
    assert rosters.around(agent, spawner).resolve(agent).roster == roster
