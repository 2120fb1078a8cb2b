"""Layers from wide to narrow: permitted content, the effect of locks, and data shared between sets."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import explain
from baton.rules.policy.load import PolicyProblems, Unlock, extend, load
from baton.rules.policy.rules.files import TIERS, Layer, layered, texts
from tests.support.cases import every

RULE = """
id: {id}
description: A rule.
match: {{tools: [Target, "{id}"]}}
decision: {decision}
reason: because
{more}
tests: {{match: [{{tool: Target}}], not_match: [{{tool: Free}}]}}
"""


def rule(rule_id="org/one", decision="deny", **more):
    lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in more.items())
    return RULE.format(id=rule_id, decision=decision, more=lines)


ROSTER = "id: org\ndescription: x\nagents: {coder: {model: opus}, scout: {model: haiku}}\n"
ORG = {
    "config.yaml": "locked: [org/one, org/two, org/quiet]\nrosters: [org]\nagent_tools: [Task]\nlists: {known: [x]}",
    "agents/org.yaml": ROSTER,
    "org/one.yaml": rule(),
    "org/two.yaml": rule("org/two", "ask", modes=["strict"]),
    "org/quiet.yaml": rule("org/quiet", shadow=True),
    "org/free.yaml": rule("org/free", "ask"),
    "org/other-way.yaml": rule("org/other-way", enabled=False, replaces=["org/one"]),
}
BASE = load([Layer(tier="organisation", name="acme", files=ORG)])


def below(files, tier="team", base=BASE):
    return extend(base, [Layer(tier=tier, name="web", files=files)])


def problems(files, tier="team", base=BASE):
    with pytest.raises(PolicyProblems) as refused:
        below(files, tier, base)
    return [str(problem) for problem in refused.value.problems]


def call(tool, principal=None, **tool_input):
    return Facts(
        call=ToolCall(client="t", session_id="s", tool_name=tool, tool_input=tool_input, cwd="/repo"),
        level="strict",
        principal=principal or Principal(),
        accepts_rewrites=frozenset({"*"}),
    )


def hits(policies, tool):
    return {hit.id: hit.effect for hit in evaluate(policies, call(tool)).hits}


@every("tier", ["team", "project", "user"])
@every(
    ("files", "expected"),
    [
        ({"config.yaml": "rules: {org/one: off}"}, "config.yaml:1: the organisation locked `org/one`; it cannot be"),
        ({"config.yaml": "rules: {org/one: shadow}"}, "cannot be switched to `shadow` below it"),
        (
            {"config.yaml": "rules:\n  org/other-way: on"},
            "config.yaml:2: `org/other-way` replaces `org/one`, locked by the organisation",
        ),
        (
            {"own/x.yaml": rule("own/x", "allow", replaces=["org/one"])},
            "own/x.yaml:7: the organisation locked `org/one`; a rule below it cannot replace it",
        ),
        ({"org/one.yaml": rule(decision="ask")}, "org/one.yaml:5: the organisation locked `org/one`, so `decision`"),
        ({"org/one.yaml": rule(modes=["strict"])}, "so `modes` cannot change like this"),
        ({"org/one.yaml": rule(shadow=True)}, "so `shadow` cannot change like this; below it the rule may only get"),
        ({"org/one.yaml": rule(enabled=False)}, "so `enabled` cannot change"),
        ({"org/one.yaml": rule(unless=[{"tools": "Other"}])}, "so `unless` cannot change"),
        ({"org/one.yaml": rule(when="false || true")}, "so `when` cannot change"),
        ({"org/one.yaml": rule(who="orchestrator")}, "so `who` cannot change"),
        ({"org/one.yaml": rule().replace("Target,", "Target, More,")}, "so `match` cannot change"),
        (
            {"config.yaml": "locked: [org/free]"},
            "config.yaml:1: `locked` is only allowed in the organisation's config.yaml",
        ),
        (
            {"config.yaml": "rules: {}\nnever_block: [Edit]"},
            "config.yaml:2: only the organisation may set `never_block`",
        ),
        (
            {"config.yaml": "shell_tools: {}"},
            ": `aliases`, `headless`, `lists`, `model_aliases`, `overrides`, `packs`, `places`, `rosters`, `rules`",
        ),
        ({"config.yaml": "lists: {known: [y]}"}, "a wider tier sets the list `known`"),
        ({"shell/x.yaml": "x: read-only"}, "shell/x.yaml:1: only the organisation may change shell tables"),
        ({"config.yaml": "overrides: {org/codr: {model: haiku}}"}, "unknown row `org/codr`; did you mean `org/coder`?"),
        ({"config.yaml": "overrides: {org/coder: {model: gpt}}"}, "config.yaml:1: `model` is `gpt`; allowed: `fable`"),
        ({"config.yaml": "overrides: {org/coder: {modl: opus}}"}, "unknown key `modl`; did you mean `model`?"),
    ],
)
def test_forbidden_changes_of_lower_layers_are_named(tier, files, expected):
    found = problems(files, tier)
    assert any(text.startswith(f"{tier}/web:") and expected in text for text in found), found


@every(
    ("files", "expected"),
    [
        ({"config.yaml": "rules: {org/one: on, org/two: on, org/quiet: on}"}, {"org/quiet": "deny"}),
        ({"org/two.yaml": rule("org/two", "deny", modes=["strict"])}, {"org/two": "deny"}),
        ({"org/two.yaml": rule("org/two", "ask", modes=["strict", "guidance"])}, {}),
        ({"org/two.yaml": rule("org/two", "ask")}, {}),
        ({"org/quiet.yaml": rule("org/quiet", shadow=False)}, {"org/quiet": "deny"}),
        ({"config.yaml": "rules: {org/free: off}"}, {"org/free": None}),
        ({"config.yaml": "rules: {org/free: shadow}"}, {"org/free": "shadow"}),
        ({"org/free.yaml": rule("org/free", "deny", shadow=True)}, {"org/free": "shadow"}),
        ({"config.yaml": "lists: {mine: [Own]}", "own/x.yaml": rule("own/x")}, {"own/x": "deny"}),
    ],
)
def test_allowed_changes_of_lower_layers(files, expected):
    before = {"org/one": "deny", "org/two": "ask", "org/quiet": "shadow", "org/free": "ask"}
    wanted = {rule_id: effect for rule_id, effect in (before | expected).items() if effect}
    assert hits(below(files), "Target") == wanted


def test_a_narrower_layer_overrides_wider_ones_in_any_order():
    layers = [
        Layer(tier="user", name="ann", files={"config.yaml": "rules: {org/free: on}"}),
        Layer(tier="team", name="web", files={"config.yaml": "rules: {org/free: off}"}),
        Layer(tier="project", name="shop", files={"config.yaml": "rules: {org/free: shadow}"}),
    ]
    assert hits(extend(BASE, layers), "Target")["org/free"] == "ask"
    assert hits(extend(BASE, layers[1:]), "Target")["org/free"] == "shadow"
    assert hits(extend(BASE, layers[1:2]), "Target").get("org/free") is None


def test_a_project_cannot_loosen_its_team_s_rules():
    team = below({"org/two.yaml": rule("org/two", "deny")})
    assert any(
        "so `decision` cannot change" in text
        for text in problems({"org/two.yaml": ORG["org/two.yaml"]}, "project", team)
    )


def organisation(config, origin, **files):
    return Layer(tier="organisation", name=origin, origin=origin, files={"config.yaml": config} | files)


def test_the_organisations_own_layers_add_to_each_others_locks():
    policies = extend(BASE, [organisation("locked: [org/free]\nrules: {org/free: shadow}", "upload")])
    assert hits(policies, "Target")["org/free"] == "shadow"
    assert problems({"config.yaml": "rules: {org/free: off}"}, base=policies)
    assert problems({"config.yaml": "rules: {org/two: off}"}, base=policies)


def test_a_lock_binds_the_organisations_upload_and_not_the_operators_files():
    off = "rules: {org/one: off}"
    assert "org/one" not in hits(extend(BASE, [organisation(off, "folder")]), "Target")
    with pytest.raises(PolicyProblems, match="the organisation locked `org/one`"):
        extend(BASE, [organisation(off, "upload")])


def test_a_locked_refusal_that_asks_the_rosters_keeps_them_the_organisations():
    asks = RULE.format(id="org/models", decision="deny", more="")
    asks = asks.replace('{tools: [Target, "org/models"]}', "{agent: {default: opus}}").replace(
        "{tool: Target}", "{tool: Task, input: {subagent_type: coder, prompt: p, description: d}}"
    )
    base = load([Layer(tier="organisation", files=ORG | {"org/models.yaml": asks})])
    assert below({"config.yaml": "overrides: {org/coder: {model: haiku}}"}, base=base)
    config = ORG["config.yaml"].replace("locked: [", "locked: [org/models, ")
    base = load([Layer(tier="organisation", files=ORG | {"org/models.yaml": asks, "config.yaml": config})])
    for files in (
        {"config.yaml": "overrides: {org/coder: {model: haiku}}"},
        {"config.yaml": "aliases: {coder: scout}"},
        {"config.yaml": "rosters: []"},
        {"agents/org.yaml": ROSTER.replace("opus", "haiku")},
    ):
        assert any(
            "the organisation locked `org/models`, which asks the rosters" in text
            for text in problems(files, base=base)
        )


def test_rows_of_rosters_change_by_key_and_tier():
    team = {"config.yaml": "overrides: {org/coder: {model: sonnet, prompt: Be brief.}}"}
    user = {"config.yaml": "overrides: {org/coder: {model: haiku}, org/scout: {tools: [Read]}}"}
    layers = [Layer(tier="team", name="web", files=team), Layer(tier="user", name="ann", files=user)]
    rosters = extend(BASE, layers).rosters
    coder, scout = rosters.resolve("coder"), rosters.resolve("scout")
    assert (coder.model, coder.row.prompt, scout.model, scout.row.tools) == ("haiku", "Be brief.", "haiku", ["Read"])
    assert BASE.rosters.resolve("coder").model == "opus"


def test_a_layer_s_rule_is_tested_with_the_layers_above():
    uses = rule("own/x").replace("Target,", "$mine,").replace("{tool: Target}", "{tool: Own}")
    layers = [Layer(tier="team", name="web", files={"config.yaml": "lists: {mine: [Own]}"})]
    narrow = Layer(tier="user", name="ann", files={"own/x.yaml": uses})
    assert evaluate(extend(BASE, [*layers, narrow]), call("Own")).rule == "own/x"
    with pytest.raises(PolicyProblems, match=r"user/ann:own/x.yaml:4: unknown list `\$mine`"):
        extend(BASE, [narrow])


def test_extending_equals_loading_and_shares_rules():
    organisation = Layer(tier="organisation", name="acme", files=ORG)
    files = {"config.yaml": "rules: {org/free: off}", "own/x.yaml": rule("own/x")}
    team = Layer(tier="team", name="web", files=files)
    longer = extend(BASE, [team])
    assert longer.revision == load([team, organisation]).revision != BASE.revision
    assert longer.shells is BASE.shells
    kept = {id(one) for one in BASE.rules}
    assert [one.id for one in longer.rules if id(one) not in kept] == ["org/free", "own/x"]
    assert extend(BASE, []) is BASE


def test_texts_name_the_tier_and_its_owner():
    layers = [*layered({"a/b.yaml": "1"}, {"a/b.yaml": "2"}), Layer(tier="user", name="ann", files={"a/b.yaml": "3"})]
    assert texts(layers) == {"a/b.yaml": "1", "organisation:a/b.yaml": "2", "user/ann:a/b.yaml": "3"}


def test_lower_layers_cannot_override_a_locked_rewrite():
    sets = rule("org/sets", "rewrite", set={"model": "haiku"})
    base = load([Layer(tier="organisation", files={"config.yaml": "locked: [org/sets]", "org/sets.yaml": sets})])
    policies = below({"a/sets.yaml": rule("a/sets", "rewrite", set={"model": "opus", "prompt": "x"})}, base=base)
    assert evaluate(policies, call("Target")).updated_input == {"model": "haiku", "prompt": "x"}


IDS = ["org/one", "org/two", "org/quiet", "org/free", "org/other-way", "own/x", "own/y"]
SWITCH = st.sampled_from(["on", "off", "shadow"])
CHANGE = st.fixed_dictionaries(
    {},
    optional={
        "modes": st.sampled_from([["strict"], ["guidance"], ["strict", "guidance"]]),
        "shadow": st.booleans(),
        "enabled": st.booleans(),
        "who": st.sampled_from(["any", "orchestrator", "subagent"]),
        "replaces": st.lists(st.sampled_from(IDS[:5]), max_size=2),
        "unless": st.sampled_from([[], [{"tools": "Target"}]]),
        "when": st.sampled_from(["true", "mode.enabled"]),
    },
)
RULES = st.dictionaries(st.sampled_from(IDS), st.tuples(st.sampled_from(["deny", "ask", "allow"]), CHANGE), max_size=2)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "rules": st.dictionaries(st.sampled_from(IDS[:5]), SWITCH, max_size=2),
        "lists": st.just({"mine": ["Target"]}),
        "never_block": st.just(["*"]),
        "locked": st.just([]),
        "aliases": st.just({"a": "coder"}),
        "overrides": st.just({"org/coder": {"model": "haiku"}}),
    },
)


def files_of(config, rules):
    changed = {f"{name}.yaml": rule(name, decision, **more) for name, (decision, more) in rules.items()}
    return {"config.yaml": json.dumps(config)} | changed if config else changed


LAYERS = st.lists(st.builds(files_of, CONFIGS, RULES), min_size=1, max_size=3)


@given(LAYERS)
def test_lower_layers_cannot_lift_a_locked_denial(given_files):
    policies = BASE
    for tier, files in zip(TIERS[2:], given_files, strict=False):
        try:
            policies = below(files, tier, policies)
        except PolicyProblems:
            continue
    for level in ("off", "guidance", "strict"):
        for agent_id in ("", "agent"):
            facts = call("Target")
            asked = msgspec.structs.replace(
                facts, level=level, call=msgspec.structs.replace(facts.call, agent_id=agent_id)
            )
            assert evaluate(policies, asked).effect == "deny"
            assert {hit.id: hit.effect for hit in evaluate(policies, asked).hits}["org/one"] == "deny"
    assert evaluate(policies, call("Target")).effect == "deny"
    assert hits(policies, "Target")["org/two"] in ("ask", "deny")


def locked(*patterns, origin="folder"):
    return Layer(
        tier="organisation",
        name=origin,
        origin=origin,
        files=ORG | {"config.yaml": f"locked: {list(patterns)}\nrosters: [org]\nagent_tools: [Task]\n"},
    )


@every(
    ("patterns", "covered"),
    [
        (["org/*"], {"org/one", "org/two", "org/quiet", "org/free", "org/other-way"}),
        (["org/o*"], {"org/one", "org/other-way"}),
        (["*"], {"org/one", "org/two", "org/quiet", "org/free", "org/other-way"}),
        (["org/[oq]*", "org/two"], {"org/one", "org/other-way", "org/quiet", "org/two"}),
        (["org/?ree"], {"org/free"}),
    ],
)
def test_a_lock_covers_the_rules_of_its_pattern(patterns, covered):
    base = load([locked(*patterns)])
    assert base.locked == covered
    for rule_id in set(BASE.locked | {"org/free"}):
        files = {"config.yaml": f"rules: {{{rule_id}: off}}"}
        if rule_id in covered and rule_id != "org/other-way":
            assert any(f"locked `{rule_id}`" in text for text in problems(files, base=base))
        else:
            assert below(files, base=base)


@every(
    ("pattern", "text"),
    [
        ("orgs/*", "the pattern `orgs/*` matches no rule; did you mean `org/*`?"),
        ("org/on", "unknown rule `org/on`; did you mean `org/one`?"),
        ("org/[a", "`[` is never closed"),
    ],
)
def test_a_lock_that_covers_nothing_is_named(pattern, text):
    with pytest.raises(PolicyProblems) as refused:
        load([locked(pattern)])
    assert any(text in str(problem) for problem in refused.value.problems)


def test_a_team_s_rules_in_a_locked_folder_are_its_own():
    base = load([locked("org/*")])
    team = below({"org/ours.yaml": rule("org/ours")}, base=base)
    assert "org/ours" not in team.locked
    assert hits(below({"config.yaml": "rules: {org/ours: off}"}, "user", team), "Target").get("org/ours") is None


def test_explain_names_the_lock_and_the_unlock():
    base = load([locked("org/*")], [Unlock(pattern="org/o*", note="by ada")])
    traces = {one.id: (one.locked, one.unlocked) for one in explain(base, call("Target"))}
    assert traces["org/one"] == ("org/*", "by ada")
    assert traces["org/free"] == ("org/*", "")


@every("tool", ["Task", "Agent", "spawn_agent"])
@every("other", ["Bash", "mcp__x__y", "Target"])
def test_a_rewrite_reaches_tools_that_start_agents_and_those_that_were_opened(tool, other):
    text = rule("own/x", "rewrite", set={"prompt": "p"}).replace(
        "Target,", "Target, Task, Agent, spawn_agent, Bash, mcp__x__y,"
    )
    policies = below({"own/x.yaml": text}, base=load([Layer(tier="organisation", files={"config.yaml": "{}"})]))
    asked = msgspec.structs.replace(call(tool), accepts_rewrites=frozenset())
    assert evaluate(policies, asked).updated_input == {"prompt": "p"}
    assert "`prompt`" in evaluate(policies, asked).notice
    asked = msgspec.structs.replace(call(other), accepts_rewrites=frozenset())
    verdict = evaluate(policies, asked)
    assert (verdict.updated_input, verdict.effect, verdict.message) == (None, "abstain", "")
    assert [(hit.id, hit.effect) for hit in verdict.hits] == [("own/x", "shadow")]
    opened = msgspec.structs.replace(asked, accepts_rewrites=frozenset({other}))
    assert evaluate(policies, opened).updated_input == {"prompt": "p"}
    assert evaluate(policies, asked).updated_input is None  # the cache of outcomes knows nothing of the other


PACK = {
    "packs/keys/pack.yaml": "title: Keys\ndescription: Keeps keys.\npromise: 0.3\n",
    "packs/keys/one.yaml": rule("packs/keys/one"),
    "packs/keys/quiet.yaml": rule("packs/keys/quiet", shadow=True),
    "packs/keys/rare.yaml": rule("packs/keys/rare", enabled=False),
}


@every(
    ("organisation", "team", "states"),
    [
        ("", "", "off off off"),
        ("packs: {keys: on}", "", "on shadow off"),
        ("packs: {keys: shadow}", "", "shadow shadow off"),
        ("packs: {keys: on}", "packs: {keys: off}", "off off off"),
        ("", "packs: {keys: on}", "on shadow off"),
        ("packs: {keys: on}", "rules: {packs/keys/one: off, packs/keys/rare: on}", "off shadow on"),
    ],
)
def test_a_pack_is_off_until_a_layer_switches_it(organisation, team, states):
    base = load([Layer(tier="organisation", files=PACK | {"config.yaml": organisation or "rules: {}"})])
    policies = below({"config.yaml": team}, base=base) if team else base
    found = {one.id: "off" if not one.enabled else "shadow" if one.shadow else "on" for one in policies.rules}
    assert list(found.values()) == states.split()


@pytest.mark.parametrize("switch", ["off", "shadow"])
def test_a_locked_pack_cannot_be_loosened_below(switch):
    config = "packs: {keys: on}\nlocked: [packs/keys/*]"
    base = load([Layer(tier="organisation", files=PACK | {"config.yaml": config})])
    assert (
        "the organisation locked `packs/keys/one`"
        in problems({"config.yaml": f"packs: {{keys: {switch}}}"}, base=base)[0]
    )
    assert below({"config.yaml": "packs: {keys: on}"}, base=base)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"config.yaml": "packs: {kyes: on}"}, "unknown pack `kyes`"),
        ({"packs/other/one.yaml": rule("packs/other/one")}, "the pack `other` is missing"),
    ],
)
def test_an_unknown_pack_is_named(files, problem):
    base = load([Layer(tier="organisation", files=PACK)])
    assert problem in problems(files, base=base)[0]


ASK = "`baton request DECISION_ID --reason WHY`"
LIFT = f"grant an exception; ask for it: {ASK}."
WAYS = {
    "user": f"It is a rule of `web`, who can {LIFT}",
    "team": f"A lead of team `web` or an admin can {LIFT}",
    "project": f"An admin, or a lead of the team of project `web`, can {LIFT}",
}


@every("tier", WAYS)
def test_a_refusal_names_who_can_lift_the_rule_of_a_layer_and_how(tier):
    policies = below({"web/own.yaml": rule("web/own")}, tier)
    assert evaluate(policies, call("web/own")).reason.endswith(WAYS[tier])


def test_a_refusal_by_a_locked_rule_names_the_unlock_and_its_person():
    reason = evaluate(BASE, call("org/one", Principal(user="ann"))).reason
    assert (
        "An admin can unlock it for a time (`baton policy unlock org/one --user ann --reason WHY`). After that, ask for"
        in reason
    )
    assert reason.endswith(f"{ASK}.")


def test_a_refusal_by_a_free_rule_of_the_organisation_names_the_person_s_own_layer():
    free = load([Layer(tier="organisation", name="acme", files={"org/one.yaml": rule(), "config.yaml": ""})])
    reason = evaluate(free, call("org/one")).reason
    assert f"They ask for an exception: {ASK}." in reason
    assert "`org/one: off` below `rules:`" in reason
    assert "`baton policy push FOLDER --tier user --activate --reason WHY`" in reason
