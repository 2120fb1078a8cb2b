"""The packs on lines of other people's projects: read from the packages installed here, and never copied into this repository."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from baton.rules.policy.rules.files import pack_of
from tests.lines import corpus
from tests.shipped_policies.test_packs import MOST_TOGETHER, PACKS
from tests.support.shipped import shipped, with_packs

pytestmark = pytest.mark.slow("judges more than 20,000 lines")
PLACES = (
    "/usr/bin",
    "/usr/sbin",
    "/etc",
    "/usr/lib",
    "/usr/share",
    "/usr/local",
    "/opt",
    "/var/lib/dpkg/info",
    str(Path.home() / ".pyenv"),
)
ENOUGH = 20_000
BLOCK = re.compile(r"^ *```(?:sh|bash|shell|console|zsh)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
FRAGMENT = re.compile(
    r"^(?:#|[{}()]|[\w./-]+\)|(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function)\b|\w+ ?\(\)|.*(?:\\|;;|[|&{(]|\b(?:do|then))$)"
)


def of_file(path):
    """Yield the shell lines of a file of a project."""
    text = path.read_text(errors="replace")
    if path.name == "package.json":
        scripts = json.loads(text).get("scripts") or {}
        yield from (one for one in scripts.values() if isinstance(one, str))
    elif path.suffix == ".md":
        yield from (line.strip().removeprefix("$ ") for block in BLOCK.findall(text) for line in block.splitlines())
    elif path.name == "Makefile":
        yield from (
            line.strip().lstrip("@-") for line in text.splitlines() if line.startswith("\t") and "$(" not in line
        )
    elif path.name == "Dockerfile":
        yield from (line[4:].strip() for line in text.splitlines() if line.startswith("RUN "))
    else:
        yield from map(str.strip, text.splitlines())


def has_shebang(path):
    """Return whether a file without a suffix is a shell script."""
    try:
        with path.open("rb") as file:
            return not path.suffix and bool(re.match(rb"#! ?/\S*?(?:env )?(?:ba|da)?sh\b", file.read(40)))
    except OSError:
        return False


def harvest():
    """Return different whole shell lines, of many projects: no folder gives more than 6,000."""
    found, given = {}, Counter()
    for place in PLACES:
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                path = Path(folder, name)
                scripted = folder.endswith("/completions") or path.suffix in {
                    ".sh",
                    ".bash",
                    ".postinst",
                    ".prerm",
                    ".postrm",
                    ".preinst",
                }
                if (
                    name not in {"package.json", "Makefile", "Dockerfile"}
                    and path.suffix != ".md"
                    and not scripted
                    and not has_shebang(path)
                ):
                    continue
                try:
                    lines = [one for one in of_file(path) if 5 < len(one) < 400 and not FRAGMENT.match(one)]
                except (OSError, ValueError, AttributeError):
                    continue
                for line in lines:
                    if line not in found and given[folder] < 6_000:
                        given[folder] += 1
                        found[line] = path.suffix if path.suffix in {".json", ".md"} else "script"
    return found


def test_each_pack_keeps_its_promise_on_lines_of_other_projects():
    found = harvest()
    lines = sorted(found)
    before = [row for row in map(corpus.of_line, lines) if corpus.judged(shipped(), row).effect not in corpus.STOPS]
    if len(before) < ENOUGH:
        pytest.skip(f"only {len(before)} different lines are installed here")
    stopped = Counter()
    for row in before:
        verdict = corpus.judged(with_packs(" ".join(PACKS)), row)
        if verdict.effect in corpus.STOPS:
            stopped["together"] += 1
            stopped.update({pack_of(hit.id) for hit in verdict.hits} - {""})
    rates = {name: round(100 * count / len(before), 3) for name, count in stopped.items()}
    print(len(lines), len(before), Counter(found.values()).most_common(), rates)
    assert rates.pop("together") <= MOST_TOGETHER
    assert {name: rate for name, rate in rates.items() if rate > shipped().parsed.packs[name].promise} == {}
