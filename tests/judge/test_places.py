"""Removals, writes and moves of guarded places, in generated spellings."""

from hypothesis import given
from hypothesis import strategies as st

from tests.lines.corpus import judged, of_line
from tests.support.examples import examples
from tests.support.shipped import shipped

SPELLINGS = st.sampled_from(
    ["{}", "'{}'", '"{}"', "{}/", "{}/.", "//{}", "/.{}", "/tmp/..{}", "/proc/self/root{}", "{{{0},/x}}"]
)
WRAPPERS = st.sampled_from(
    ["{}", "sudo {}", "bash -c '{}'", "cd / && {}", "true; {}", "({})", "env A=1 {}", "echo x | {}"]
)
REMOVALS = st.sampled_from(
    ["rm -rf {}", "rm -r -f -- {}", "find {} -delete", "mv {} /tmp/x", "rsync -a --delete /tmp/e/ {}", "chmod -R 0 {}"]
)
PLACES = st.sampled_from(["/usr", "/etc", "/opt", "/boot", "/home/ann", "/Users/ann", "/var", "/lib64"])


@given(PLACES, SPELLINGS, REMOVALS, WRAPPERS)
@examples(200)
def test_no_spelling_of_a_guarded_place_escapes(place, spelling, removal, wrapper):
    spelt = spelling.format(place)
    if "'" in spelt and "'" in wrapper:
        return
    line = wrapper.format(removal.format(spelt))
    assert judged(shipped(), of_line(line)).effect == "deny", line
