"""Builds a release into `dist/`: the wheel, its SBOM (CycloneDX) and its section of CHANGELOG.md.

`python .ci/release.py FOLDER` writes the same bytes for the same commit: every timestamp is SOURCE_DATE_EPOCH. The SBOM
lists the locked packages of the server and the tools, with the hashes of their files.
"""

import datetime as dt
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements/runtime.txt", "requirements/tools.txt")
_LOCKED = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==([^\s;]+)([^\\\n]*(?:\\\n[^\\\n]*)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def section(changelog: str, version: str) -> str:
    """Return a version's section, without its heading. Raise ValueError for a missing or undated one, or further changes."""
    if re.search(r"^## \[Unreleased\]\n(?!\s*(?:^## |\Z))", changelog, re.MULTILINE):
        raise ValueError(f"CHANGELOG.md has changes under [Unreleased]: move them into the section for {version}")
    found = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if found is None or not found[1].strip():
        raise ValueError(
            f"CHANGELOG.md has no section for {version}: add `## [{version}] - YYYY-MM-DD` with its changes"
        )
    return found[1].strip() + "\n"


def sbom(version: str, licence: str, locks: str, epoch: int) -> str:
    """Return a CycloneDX document of the locked packages. Its serial number derives from the content."""
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, f"baton {version}\n{locks}"),
        components=[
            Component(
                name=name,
                version=locked,
                type=ComponentType.LIBRARY,
                bom_ref=f"{name}=={locked}",
                purl=PackageURL("pypi", name=name, version=locked),
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one) for one in _HASH.findall(rest)],
            )
            for name, locked, rest in dict.fromkeys(_LOCKED.findall(locks))
        ],
    )
    bom.metadata.timestamp = dt.datetime.fromtimestamp(epoch, dt.UTC)
    bom.metadata.component = Component(
        name="baton",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"baton=={version}",
        licenses=[LicenseExpression(licence)],
    )
    bom.register_dependency(bom.metadata.component, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def main(folder: Path) -> None:
    """Write the release. SOURCE_DATE_EPOCH is required."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    notes = section((ROOT / "CHANGELOG.md").read_text(), version)
    document = sbom(
        version,
        project["license"],
        "".join((ROOT / lock).read_text() for lock in LOCKS),
        int(os.environ["SOURCE_DATE_EPOCH"]),
    )
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve()))
    subprocess.run(build, cwd=ROOT, check=True)
    (folder / f"baton-{version}.cdx.json").write_text(document)
    (folder / f"baton-{version}.md").write_text(notes)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
