"""Asks the advisory database about every locked package. It exits with 1 on a known vulnerability that has no waiver.

Where the advisory database cannot be reached it says so loudly and exits with 0: no answer is no finding, and no
all-clear. `pip-audit`'s own default service answers the same for a package that it has never heard of, so OSV is asked.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements/runtime.txt", "requirements/tools.txt", "requirements/test.txt", "requirements/keyring.txt")
WAIVERS: dict[str, str] = {}
"""Advisories that do not concern Baton, and why not."""
UNREACHED = ("ConnectionError", "Timeout", "ServiceError", "NameResolutionError")


def main(arguments: list[str]) -> int:
    """Audit each lock; further arguments go to pip-audit."""
    known = False
    for lock in LOCKS:
        command = [
            *(sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "-r", str(ROOT / lock)),
            *("-s", "osv", "-f", "json", "--progress-spinner", "off", "--timeout", "10"),
            *(part for waiver in WAIVERS for part in ("--ignore-vuln", waiver)),
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            packages = json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError):
            last = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
            if not any(word in done.stderr for word in UNREACHED):
                sys.stderr.write(f"{lock}: the audit broke: {last[0]}\n")
                return 2
            sys.stderr.write(f"!! NOT AUDITED: the advisory database cannot be reached from here: {last[0][:200]}\n")
            return 0
        for package in packages:
            if "skip_reason" in package:
                sys.stderr.write(f"!! NOT AUDITED: {package['name']}: {package['skip_reason']}\n")
            for found in package.get("vulns", ()):
                known = True
                fixed = ", ".join(found["fix_versions"]) or "none yet"
                sys.stderr.write(f"{lock}: {package['name']} {package['version']}: {found['id']}, fixed in {fixed}\n")
        sys.stderr.write(f"{lock}: {len(packages)} packages asked about\n")
    return int(known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
