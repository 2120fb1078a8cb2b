from baton.rules.policy.lint import lint
from baton.rules.policy.load import layered, load
from baton.rules.policy.replay import compare, verdict_changes
from baton.rules.policy.rules.model import file_text, json_schema
from baton.shared import policy_folders


def found(policies):
    return [f"{problem.file}: {problem.text}" for problem in lint(policies)]


def test_the_shipped_set_has_nothing_to_complain_of(shipped):
    assert found(shipped) == []


def test_unreachable_rules_are_found(shipped_files):
    team = {
        "config.yaml": "lists: {unused: [x]}\nrosters: [claude-code, mine]\naliases: {a: nobody}\n"
        "rules: {options/direct-edit-paths: on, orchestrator/direct-edit: on}",
        "agents/mine.yaml": "id: mine\ndescription: x\naliases: {Plan: gone}\nagents: {Explore: {}}",
        "agents/spare.yaml": "id: spare\ndescription: x\nagents: {Sitter: {}}",
    }
    assert found(load(layered(shipped_files, team))) == [
        "agents/mine.yaml: `Explore` never applies: the roster `claude-code` comes first and has it too",
        "agents/mine.yaml: the alias `Plan` stands for `gone`, not an agent of this roster",
        "agents/spare.yaml: `rosters` in config.yaml does not name this roster",
        "config.yaml: `orchestrator/direct-edit` is switched on here, but an active rule replaces it",
        "config.yaml: the alias `a` stands for `nobody`, in none of the active rosters",
        "config.yaml: the list `unused` is used by no rule",
        *(
            f"options/direct-edit-paths.yaml: it suggests the agent `{agent}`, in none of the active rosters"
            for agent in ("database-expert", "designer", "devops-engineer", "executor", "test-engineer", "writer")
        ),
    ]


def test_two_sets_are_compared_rule_by_rule(shipped, shipped_files, rule, facts):
    team = {
        "config.yaml": "rules: {options/pkill: on}\nnever_block: [Edit]",
        "guardrails/fork-bomb.yaml": shipped_files["guardrails/fork-bomb.yaml"].replace(
            "decision: deny", "decision: ask"
        ),
        "team/rule.yaml": rule(match="{tools: Read}", yes="{tool: Read}"),
        "shell/mine.yaml": "mytool: read-only",
    }
    other = load(layered(shipped_files, team))
    assert [(change.kind, change.id, change.what) for change in compare(shipped, other)] == [
        ("added", "team/rule", "on"),
        ("changed", "guardrails/fork-bomb", "decision"),
        ("changed", "options/pkill", "switched on"),
        ("config", "never_block", ""),
        ("config", "shell", ""),
    ]
    assert compare(shipped, shipped) == []
    calls = [facts("Edit", {"file_path": "a"}), facts("Bash", "ls"), facts("Read", {}, level="off")]
    assert [(c.index, c.before, c.after) for c in verdict_changes(shipped, other, calls)] == [
        (0, "deny by orchestrator/direct-edit", "abstain"),
        (2, "abstain", "deny by team/rule"),
    ]


def test_the_committed_schemas_are_those_of_the_code():
    folder = policy_folders.shipped() / "schema"
    assert {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.json")} == {
        kind: file_text(schema) for kind, schema in json_schema().items()
    }


def test_every_shipped_file_names_its_schema(shipped_files):
    missing = [
        path
        for path, text in shipped_files.items()
        if not path.startswith("shell/") and not text.startswith("# yaml-language-server: $schema=")
    ]
    assert missing == []
