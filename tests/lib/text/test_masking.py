from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.bash.tables.tables import build
from baton.lib.text import masking
from baton.lib.text.masking import mask, mask_and_cut, mask_and_cut_bytes, mask_json
from baton.lib.text.secrets.prefixes import TOKENS
from tests.support.cases import every
from tests.support.fake_secrets import fakes, readable
from tests.support.steps import steps

WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "sk-key": ("sk-", 20),
    "aws-key": ("AKIA", 16),
    "github-token": ("ghp_", 36),
    "github-pat": ("github_pat_", 40),
    "slack-token": ("xoxb-", 24),
    "stripe-key": ("sk_live_", 24),
    "google-key": ("AIza", 35),
}
FAKES = fakes()
TABLES = Path(__file__).parents[3] / "policies" / "shell"


@pytest.fixture(scope="module", autouse=True)
def _programs():
    masking.learn(build({path.name: path.read_text("utf-8") for path in TABLES.glob("*.yaml")}).secrets)
    yield
    masking.learn({})


@pytest.mark.parametrize("shape", SECRETS)
@given(data=st.data(), before=st.text(max_size=12), after=st.text(max_size=12))
def test_no_token_survives_wherever_it_stands(shape, data, before, after):
    prefix, size = SECRETS[shape]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" if shape == "aws-key" else WORD
    secret = prefix + data.draw(st.text(alphabet, min_size=size, max_size=size))
    masked = mask(f"{before} {secret} {after}".encode("utf-8", "replace").decode())
    assert secret not in masked
    assert secret[len(prefix) :] not in masked
    assert "[masked:" in masked


@given(
    name=st.sampled_from(["password", "DB_PASSWORD", "api_key", "apiKey", "client-secret", "GITHUB_TOKEN", "Passwd"]),
    between=st.sampled_from(["=", ": ", "='", '="', '": "', " = ", "=>", '\\":\\"']),
    # What is a path, a reference, code or a word of a sentence stays readable: `readable()` has those.
    secret=st.text(WORD + "!#%+?@^_~", min_size=5, max_size=57).map("xQ7".__add__),
    after=st.sampled_from(["", " && ls", "' x", '"}', "\n"]),
)
def test_no_value_of_a_telling_name_survives(name, between, secret, after):
    assert secret not in mask(f"x {name}{between}{secret}{after}")


@given(st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace").decode()))
def test_masking_twice_changes_nothing_more(text):
    once = mask(f"password={text} Bearer {text} https://u:{text}@h")
    assert mask(once) == once


@every(
    ("text", "masked"),
    [
        ("export OPENAI_API_KEY=sk-" + "a1" * 12, "export OPENAI_API_KEY=[masked:sk-key]"),
        ("echo gho_" + "a1" * 18, "echo [masked:github-token]"),
        ("psql postgres://me:p@ss:w0rd@db/x", "psql postgres://me:[masked:url-password]@db/x"),
        ("redis-cli -u redis://:hunter2@h", "redis-cli -u redis://:[masked:url-password]@h"),
        ("curl -H 'Authorization: Bearer abcdef12345' u", "curl -H 'Authorization: Bearer [masked:bearer]' u"),
        ("curl -H 'authorization: basic dXNlcjpwYXNz' u", "curl -H 'authorization: basic [masked:basic]' u"),
        ("curl -u ann:hunter2 https://x", "curl -u ann:[masked:option] https://x"),
        ("x eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl y", "x [masked:jwt] y"),
        (
            "echo -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- > k",
            "echo [masked:private-key] > k",
        ),
        ("cat <<E\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "cat <<E\n[masked:private-key]"),
        ('{"password": "correct horse battery"}', '{"password": "[masked:key-value]"}'),
        ("mysql --password hunter2hunter2 -h x", "mysql --password [masked:key-value] -h x"),
        ("docker run -e DB_PASS=hunter2hunter2 img", "docker run -e DB_PASS=[masked:key-value] img"),
        ("a?token=abcdefgh1&x=1", "a?token=[masked:url-parameter]&x=1"),
        ("whsec_" + "a1" * 10 + " rk_test_" + "b2" * 10, "[masked:stripe-key] [masked:stripe-key]"),
    ],
)
def test_each_shape_is_marked_by_its_name(text, masked):
    assert mask(text) == masked


@every(
    "text",
    [
        "git commit -m 'fix token handling in the login page'",
        "TOKEN=$GITHUB_TOKEN make",
        'curl -H "Authorization: Bearer $TOKEN" https://x',
        "export API_KEY=${OTHER_KEY}",
        "PASSWORD=$(pass show x) run",
        "PWD=/home/ann/some/folder make",
        "tokenizer=bert-base-uncased max_tokens=4096",
        "git clone https://github.com/team/desk-organiser-with-a-long-name.git",
        "git clone git@github.com:team/app.git && ssh ann@host:22",
        "npx task-runner-with-a-rather-long-name",
        "openssl x509 -in -----BEGIN CERTIFICATE-----",
        "cat src/secrets/token_test.py",
    ],
)
def test_other_texts_are_not_masked(text):
    assert mask(text) == text


@every(
    ("text", "masked"),
    [
        (
            "import legal winner thank year wave sausage worth useful legal winner thank yellow immediately",
            "import [masked:recovery-phrase] immediately",
        ),
        (
            'WORDS="legal, winner, thank, year, wave, sausage, worth, useful, legal, winner, thank, yellow"',
            'WORDS="[masked:recovery-phrase]"',
        ),
        *[(text, text) for text in ("legal winner thank year wave sausage worth useful legal winner thank",)],
    ],
)
def test_a_recovery_phrase_is_masked_from_twelve_words_on(text, masked):
    assert mask(text) == masked


@every("length", range(1_960, 2_010, 7))
def test_a_secret_at_the_cut_does_not_escape(length):
    secret = "sk-" + "a1b2" * 10
    cut = mask_and_cut("x" * length + " " + secret)
    assert "sk-a" not in cut
    assert len(cut) <= 2_000


def test_no_fake_secret_of_the_table_survives():
    assert [one.text for one in FAKES if one.body in mask(one.text) or one.secret in mask(one.text)] == []


def test_the_other_lines_of_the_table_stay_readable():
    assert [(line, mask(line)) for line in readable() if mask(line) != line] == []


@given(
    one=st.sampled_from([one for one in FAKES if one.kind == "prefix"]),
    left=st.text(WORD + "-_ (\"'=:\n", max_size=8),
    right=st.text(" )\"',;\n", max_size=3),
)
def test_a_token_is_found_after_adjacent_text(one, left, right):
    text = mask(f"{left}{one.secret}{right}")
    # A shape that is only told by where it begins and ends needs an edge.
    assert one.body not in text or (left[-1:].isalnum() or left[-1:] in {"-", "_"})


def test_a_token_with_a_certain_prefix_is_found_glued_to_a_letter():
    certain = {prefix for kind in TOKENS if not kind.common for prefix in kind.prefixes.split()}
    glued = [one for one in FAKES if one.kind == "prefix" and one.secret.startswith(tuple(certain))]
    assert len(glued) > 80
    assert [one.secret for one in glued if one.body in mask(f"x{one.secret}y")] == []


@given(one=st.sampled_from(FAKES), before=st.integers(0, 400), longest=st.integers(20, 400))
def test_no_secret_survives_wherever_a_text_is_cut(one, before, longest):
    text = "lorem ipsum " * (before // 12) + "\n" + one.text + "\n" + "dolor " * 40
    for cut in (mask_and_cut(text, longest), mask_and_cut_bytes(text, longest)):
        assert one.secret not in cut
        assert one.body[: max(6, len(one.body) // 2)] not in cut


@given(one=st.sampled_from([one for one in FAKES if one.kind == "prefix"]), share=st.floats(0.3, 1))
def test_a_token_that_somebody_else_has_cut_is_found_at_the_end(one, share):
    cut = one.secret[: max(12, int(len(one.secret) * share))]
    certain = any(cut.startswith(prefix) for kind in TOKENS if not kind.common for prefix in kind.prefixes.split())
    assert cut not in mask(f"use {cut}") or not certain


@given(one=st.sampled_from(FAKES))
def test_masking_a_masked_fake_changes_nothing_more(one):
    assert mask(mask(one.text)) == mask(one.text)


def test_a_url_that_is_cut_before_its_host_keeps_no_password():
    assert mask("connect to postgres://ann:hunter2hun") == "connect to postgres://ann:[masked:url-password]"
    assert mask("listen on http://localhost:8080") == "listen on http://localhost:8080"


def test_values_keys_and_argument_lists_of_json_are_masked():
    token = "ghp_" + "a1B2" * 9
    masked = mask_json(
        {
            "command": ["mysql", "-uroot", "-phunter2", "shop"],
            "headers": {"X-Api-Key": "hunter2", "Accept": "*/*"},
            "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "HOME", "value": "/root"}],
            "password": 123456,
            token: 1,
            "input_tokens": 5,
            "nested": {"secrets": ["hunter2"]},
        }
    )
    assert "hunter2" not in str(masked)
    assert token not in str(masked)
    assert masked["password"] == "[masked:key-value]"
    assert masked["command"] == ["mysql", "-uroot", "-p[masked:option]", "shop"]
    assert (masked["headers"]["Accept"], masked["input_tokens"]) == ("*/*", 5)
    assert masked["env"][1] == {"name": "HOME", "value": "/root"}


def test_every_row_of_the_table_of_tokens_has_a_source():
    assert [kind.name for kind in TOKENS if not kind.source.startswith(("https://", "docs/"))] == []


@pytest.mark.slow("masks hundreds of kilobytes of each")
@pytest.mark.parametrize(
    "unit",
    [
        "password",
        "-----BEGIN ",
        "://u:",
        "eyJa.",
        "token=",
        "sk-",
        "Bearer ",
        "a" * 8,
        "mysql -p",
        "sk-ghp_",
        "key=$a ",
        "git config ",
        "echo|sudo -S ",
        "'\"\\",
    ],
)
def test_twice_the_hostile_text_takes_at_most_twice_the_steps(unit):
    few = unit * (20_000 // len(unit))
    once, _ = steps(lambda: mask(few))
    twice, _ = steps(lambda: mask(few * 2))
    assert twice <= 2.2 * once + 500
    mask(few * 10)  # one quadratic pattern would be here for an hour


def test_a_command_within_json_is_found_behind_a_written_line_end():
    assert "hunter2" not in mask(repr("x\nmysql -phunter2\necho 'ann:hunter2' | chpasswd\n"))


def test_a_url_that_is_cut_behind_its_token_keeps_nothing():
    assert "c0ffee" not in mask("https://" + "c0ffee12" * 5 + ":x-oauth-b")


def test_most_secrets_are_found_behind_a_written_line_end():
    kept = [one.name for one in FAKES if one.body in mask(repr(f"x y z {'and so on ' * 9}\n{one.text}\nmore"))]
    assert kept == []
