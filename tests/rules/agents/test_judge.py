"""Every refusal of a spawn, and a plan's content, on separate rosters."""

from msgspec.structs import replace

from baton.rules.agents.judge import Refusal, Spawn, judge
from baton.rules.agents.rosters import Roster, Rosters, Row
from tests.support.cases import every

CREW = Roster(
    id="crew",
    description="d",
    namespaces=["crew"],
    skills=["sing"],
    agents={
        "lead": Row(role="orchestrator", tools=["*"]),
        "hand": Row(role="worker", tier="CHEAP", display_model="small", tools=["Read", "mcp__*"], description="Works."),
        "wrapper": Row(
            display_model="far", tier="MEDIUM", tools=["Read"], delegation_target="far", delegation_call="invoke_gemini"
        ),
        "own": Row(display_model="d", prompt="Ask {target}; never {target}.", delegation_target="t"),
        "free": None,
        "_default": Row(display_model="usual", tier="EXPENSIVE", cli_model="sonnet"),
    },
)
PLAIN = Roster(
    id="plain", description="d", tiers=True, agents={"Explore": Row(model="haiku"), "hand": Row(model="opus")}
)
ROSTERS = Rosters({"crew": CREW, "plain": PLAIN}, ["crew", "plain"], {"scout": "Explore"})
SAID = {"delegation_reason": "cheaper", "expected_outcome": "a list", "required_tools": ("Read",)}


def decide(agent="hand", rosters=ROSTERS, **given):
    return judge(rosters, Spawn(agent_type=agent, prompt="Find it", **given), "agent_7")


@every(
    ("agent", "given", "code", "field", "part", "allowed"),
    [
        ("nobody", {}, "unknown_agent", "agent_type", "none of the rosters searched (`crew`, `plain`)", "hand"),
        ("hnd", {}, "unknown_agent", "agent_type", "did you mean `hand`?", "hand"),
        ("_default", {}, "unknown_agent", "agent_type", "`_default`", "lead"),
        ("sing", {}, "unknown_agent", "agent_type", "is a skill, not an agent", "hand"),
        ("hand", {"spawning_agent": "lead"}, "missing_metadata", "delegation_reason", "missing: `deleg", "required_tools"),
        (
            "hand", {"spawning_agent": "lead", **SAID, "delegation_reason": " \n"}, "missing_metadata",
            "delegation_reason", "missing: `delegation_reason`", "expected_outcome",
        ),
        (
            "hand", {"spawning_agent": "lead", **SAID, "expected_outcome": ""}, "missing_metadata",
            "expected_outcome", "missing: `expected_outcome`", "expected_outcome",
        ),
        (
            "hand", {"spawning_agent": "lead", **SAID, "required_tools": ("", " ")}, "missing_metadata",
            "required_tools", "missing: `required_tools`", "expected_outcome",
        ),
        ("hand", {"required_tools": ("Read", "Edit")}, "tool_not_allowed", "required_tools", "has no `Edit`", "Read"),
        ("hand", {"spawning_agent": "hand"}, "hierarchy", "spawning_agent", "cannot spawn worker `hand`", "lead"),
        ("lead", {"spawning_agent": "hand"}, "hierarchy", "spawning_agent", "cannot spawn orchestrator `lead`", "lead"),
        ("Explore", {"spawning_agent": "crew:hand"}, "hierarchy", "spawning_agent", "cannot spawn agent", "lead"),
    ],
)  # fmt: skip
def test_a_refused_start_names_the_reason_and_the_allowed_agents(agent, given, code, field, part, allowed):
    refusal = decide(agent, **given)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code
    assert field in refusal.fields
    assert part in refusal.detail
    assert allowed in refusal.allowed
    assert refusal.given


@every(
    "spawner",
    ["Helper", "HELPER", " helper ", "helper\u200b", "\uff48elper", "crew:Helper", "CREW:helper", "help_er", "Help-Er"],
)
def test_a_worker_stays_one_however_it_is_written(spawner):
    agents = CREW.agents | {"helper": Row(role="worker"), "help-er": Row(role="worker")}
    rosters = Rosters({"crew": replace(CREW, agents=agents)}, ["crew"], {})
    assert decide(rosters=rosters, spawning_agent=spawner).code == "hierarchy"
    assert decide(rosters=rosters, spawning_agent="Lead").code == "missing_metadata"


@every("spawner", ["hnd", "han", "handd", "hadn", "crew:hnd", "crw:hand", "Haand"])
def test_a_misspelt_spawner_is_refused_with_the_name_that_was_meant(spawner):
    refusal = decide(spawning_agent=spawner)
    assert (refusal.code, refusal.fields) == ("unknown_agent", ("spawning_agent",))
    assert "did you mean `hand`?" in refusal.detail


@every("spawner", ["", " ", "handler", "thunder", "other:hand", "_default", "expert"])
def test_a_spawner_with_a_name_of_its_own_is_not_taken_for_another(spawner):
    assert decide(spawning_agent=spawner).task_id == "agent_7"


@every(
    ("given", "code"),
    [
        ({"spawning_agent": "lead", "required_tools": ("Edit",)}, "missing_metadata"),
        ({"spawning_agent": "lead", **SAID, "required_tools": ("Edit",)}, "tool_not_allowed"),
        ({"spawning_agent": "hand", "required_tools": ("Edit",)}, "tool_not_allowed"),
        ({"spawning_agent": "hand"}, "hierarchy"),
    ],
)
def test_checks_come_in_their_order(given, code):
    assert decide(**given).code == code


@every(
    ("agent", "given"),
    [
        ("hand", {}),
        ("hand", {"required_tools": ("Read", "mcp__db__query")}),
        ("wrapper", {"required_tools": ("invoke_gemini",)}),
        ("free", {"required_tools": ("Anything",)}),
        ("lead", {"required_tools": ("Anything",)}),
        ("hand", {"spawning_agent": "lead", **SAID}),
        ("hand", {"spawning_agent": "free"}),
        ("scout", {}),
        ("crew:hand", {}),
    ],
)
def test_an_allowed_start_is_planned(agent, given):
    assert decide(agent, **given).task_id == "agent_7"


def test_a_spawner_outside_all_rosters_is_not_judged_and_reported():
    (note,) = decide(spawning_agent="stranger").notes
    assert "`stranger` is in none of the rosters" in note
    assert decide(spawning_agent="lead", **SAID).notes == ()


@every(
    ("agent", "display", "cli", "tier", "colour"),
    [
        ("hand", "small", "", "CHEAP", "green"),
        ("wrapper", "far", "", "MEDIUM", "blue"),
        ("free", "usual", "sonnet", "EXPENSIVE", "purple"),
        ("Explore", "haiku", "haiku", "", ""),
        ("Explore-high", "opus", "opus", "", ""),
    ],
)
def test_models_of_a_plan(agent, display, cli, tier, colour):
    plan = decide(agent)
    assert (plan.display_model, plan.cli_model, plan.tier, plan.colour) == (display, cli, tier, colour)
    assert plan.acp.model == cli


def test_the_first_roster_wins_or_a_named_one():
    assert decide().roster == "crew"
    assert decide(rosters=Rosters(ROSTERS.by_id, ["plain"], {})).display_model == "opus"


def test_a_plan_has_the_client_s_command():
    plan = decide(model="opus", thinking_budget=2048)
    assert plan.argv[:5] == ("claude", "-p", "--output-format", "text", "--append-system-prompt")
    assert plan.argv[5] == plan.system_prompt
    assert plan.argv[6:] == ("--model", "opus")
    assert plan.stdin == "Find it"
    assert plan.env == {"MAX_THINKING_TOKENS": "2048"}
    assert (plan.acp.provider, plan.acp.model, plan.acp.mode) == ("claude_code", "opus", "default")
    assert decide().env == {}


def test_the_system_prompt_names_agent_model_and_task():
    assert (
        decide().system_prompt
        == "You are the agent `hand`. Works.\n\nAgent type: hand\nDisplay model: small\nTask id: agent_7"
    )


def test_a_row_s_own_prompt_replaces_the_wrapper_s():
    assert decide("own").instruction == "Ask t; never t."
    assert decide("own").delegation.target == "t"
