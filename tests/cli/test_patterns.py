"""`baton patterns` against a real server."""

import json


def test_a_pattern_is_added_found_approved_merged_and_retired(baton):
    said = baton("patterns", "add", "Give every HTTP call a timeout", "--language", "Python", "--wanted", "timeout=")
    made = said.split()[2].removesuffix(".")
    (listed,) = json.loads(baton("patterns", "list", "--json"))
    assert (listed["id"], listed["language"], listed["check"]["wanted"]) == (made, "python", "timeout=")
    assert "is in force" in baton("patterns", "approve", made, "--reason", "agreed")
    assert "not sure enough" in baton("patterns", "approve", made, "--confidence", "0.5")
    assert "is in force" in baton("patterns", "approve", made, "--confidence", "0.75")
    assert "Give every HTTP call a timeout" in baton("patterns", "search", "http timeout")

    other = json.loads(baton("patterns", "add", "Set timeouts", "--approve", "--json"))["id"]
    assert f"went into {made}" in baton("patterns", "merge", other, made)
    assert "retired" in baton("patterns", "list", "--words", "set timeouts")
    assert "is retired" in baton("patterns", "retire", made)
    assert "Nothing fits" in baton("patterns", "search", "http timeout")
    assert "No patterns" in baton("patterns", "list", "--status", "validated")


def test_errors_are_shown(baton):
    assert "check.forbidden" in baton("patterns", "add", "x", "--forbidden", "(", refused=True)
    assert "there is no pattern" in baton("patterns", "approve", "none", refused=True)
    assert "empty" in baton("patterns", "search", " ", refused=True)
