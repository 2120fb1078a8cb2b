"""The import contracts of `pyproject.toml`, each proven by a violation; and rules they cannot express."""

import re
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
from importlinter.application.use_cases import _get_built_in_contract_types, read_user_options
from importlinter.configuration import configure
from importlinter.domain.contract import registry

from tests.support.cases import every

ROOT = Path(__file__).parents[2]
configure()
OPTIONS = read_user_options(str(ROOT / "pyproject.toml"))
CONTRACTS = {contract["name"].split(":")[0]: contract for contract in OPTIONS.contracts_options}
SEEDED = {
    # contract: imports, each of which breaks it
    "floors": [
        ("baton.kernel.base.errors", "baton.people.users"),
        ("baton.people.users", "baton.modes.service"),
        ("baton.people.users", "baton.events.emission"),
        ("baton.clients.event", "baton.rules.call.call"),
        ("baton.context.feature", "baton.route.feature"),
        ("baton.decide.service", "baton.operate.metrics"),
        ("baton.rules.call.places.places", "baton.kernel.base.clock"),
        ("baton.records.feature", "baton.main"),
        ("baton.policies.layers", "baton.machines.inventory"),
    ],
    "tools speak HTTP": [
        ("baton.cli.status", "baton.people.users"),
        ("baton.mcp.server", "baton.kernel.base.errors"),
        ("baton.runner.runner", "baton.delegate.jobs.service"),
        ("baton.local.config", "baton.serve.command"),
    ],
    "the server knows nothing of the tools": [("baton.serve.command", "baton.cli.main"), ("baton.main", "baton.local.config")],
    "tools": [("baton.runner.runner", "baton.cli.status"), ("baton.local.config", "baton.mcp.server")],
    "records": [
        ("baton.records.pipeline.store", "baton.records.review.audit"),
        ("baton.records.latency", "baton.records.review.audit"),
    ],
    "the drain starts without SQLAlchemy and Pydantic": [("baton.events.emission", "baton.kernel.base.sql")],
    "delegate": [("baton.delegate.core.stores.jobs", "baton.delegate.jobs.service")],
    "route": [("baton.route.llm.client", "baton.route.pipeline.stage"), ("baton.route.rosters.service", "baton.route.feedback.service")],
    "context": [
        ("baton.context.patterns.service", "baton.context.compliance.service"),
        ("baton.context.codemap.service", "baton.context.enrichment.service"),
    ],
    "kernel": [("baton.kernel.base.sql", "baton.kernel.redis.client"), ("baton.kernel.http.paging", "baton.kernel.changes.announce")],
    "rules": [("baton.rules.call.call", "baton.rules.policy.load")],
    "lib": [("baton.lib.text.globs", "baton.lib.bash.read"), ("baton.lib.code.read", "baton.lib.router.index")],
    "policy": [("baton.rules.policy.rules.model", "baton.rules.policy.matching.rule")],
    "bash": [
        ("baton.lib.bash.expansion.words", "baton.lib.bash.tables.classify"),
        ("baton.lib.bash.programs.listing", "baton.lib.bash.walk"),
    ],
    "no cycle of modules or packages": [
        ("baton.lib.bash.expansion.words", "baton.lib.bash.walk"),
        ("baton.modes.service", "baton.modes.feature"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def graph():
    for name, kind in _get_built_in_contract_types():
        registry.register(kind, name)
    return grimp.build_graph("baton", exclude_type_checking_imports=False, cache_dir=None)


def kept(graph, contract):
    options = {key: value for key, value in contract.items() if key not in {"name", "type"}}
    kind = registry.get_contract_class(contract["type"])
    return kind(contract["name"], OPTIONS.session_options, options).check(deepcopy(graph), verbose=False).kept


def test_each_contract_has_a_seeded_violation():
    assert set(SEEDED) == set(CONTRACTS)


@every("name", CONTRACTS)
def test_a_contract_holds_and_breaks(graph, name):
    contract = CONTRACTS[name]
    assert kept(graph, contract)
    for importer, imported in SEEDED[name]:
        assert {importer, imported} <= graph.modules, "the violation names a module that is not there"
        broken = deepcopy(graph)
        broken.add_import(importer=importer, imported=imported)
        assert not kept(broken, contract), f"{importer} -> {imported} passes"


def stores_of_apis(graph):
    """Return what `api` modules import of modules that hold tables or queries."""
    apis = (name for name in graph.modules if name.endswith((".api", "_api")))
    return {
        (api, imported)
        for api in apis
        for imported in graph.find_modules_directly_imported_by(api)
        if imported.endswith((".store", "_store", ".tables")) or ".stores." in imported
    }


def test_api_modules_import_no_store(graph):
    assert stores_of_apis(graph) == set()
    broken, seeded = deepcopy(graph), ("baton.delegate.jobs.api", "baton.delegate.core.stores.jobs")
    broken.add_import(importer=seeded[0], imported=seeded[1])
    assert stores_of_apis(broken) == {seeded}


WEB = ROOT / "web" / "src"
SCREENS = WEB / "screens"


def imports_of(path, text):
    named = (path.parent / found for found in re.findall(r'(?:from|import\()\s*"(\.[^"]+)"', text))
    return {(one.parent / f"{one.name}{end}").resolve() for one in named for end in (".ts", ".tsx")}


def test_the_console_s_modules_have_no_circle_and_screens_share_only_parts():
    paths = [path for path in WEB.rglob("*.ts*") if path.name != "schema.d.ts"]
    graph = {path: imports_of(path, path.read_text()) & set(paths) for path in paths}
    assert any(SCREENS in path.parents for path in paths)
    TopologicalSorter(graph).prepare()
    between = [
        f"{path.relative_to(WEB)} imports {one.relative_to(WEB)}"
        for path, found in graph.items()
        if SCREENS in path.parents and path.parent != SCREENS
        for one in found
        if SCREENS in one.parents and one.parent != path.parent
    ]
    assert not between, f"screens share parts, never each other: {between}"
    some = next(path for path in paths if graph[path])
    with pytest.raises(CycleError):
        TopologicalSorter({**graph, next(iter(graph[some])): {some}}).prepare()
