import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("audit", Path(__file__).parents[2] / ".ci" / "audit.py")
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

CLEAN = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
FOUND = {"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}]}
SKIPPED = {"dependencies": [{"name": "a", "skip_reason": "not found"}]}


@pytest.mark.parametrize(
    ("out", "err", "code", "words"),
    [
        (json.dumps(CLEAN), "", 0, "1 packages asked about"),
        (json.dumps(FOUND), "found 1 known vulnerability", 1, "a 1: CVE-1, fixed in 2"),
        (json.dumps(SKIPPED), "", 0, "!! NOT AUDITED: a: not found"),
        ("", "Traceback\nrequests.exceptions.ConnectionError: no name", 0, "!! NOT AUDITED: the advisory database"),
        ("", "pip-audit: unknown argument", 2, "the audit broke: pip-audit: unknown argument"),
    ],
)
def test_an_audit_that_did_not_happen_is_never_taken_for_an_all_clear(monkeypatch, capsys, out, err, code, words):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], code, out, err))
    assert audit.main([]) == code
    assert words in capsys.readouterr().err
