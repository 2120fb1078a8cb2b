import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.engine.text.masking import WINDOW, mask, mask_and_cut

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
    secret=st.text(WORD + "!#%+,-./:?@^_~", min_size=8, max_size=60),
    after=st.sampled_from(["", " && ls", "' x", '"}', "\n"]),
)
def test_no_value_of_a_telling_name_survives(name, between, secret, after):
    assert secret not in mask(f"x {name}{between}{secret}{after}")


@given(st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace").decode()))
def test_masking_twice_changes_nothing_more(text):
    once = mask(f"password={text} Bearer {text} https://u:{text}@h")
    assert mask(once) == once


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("export OPENAI_API_KEY=sk-" + "a1" * 12, "export OPENAI_API_KEY=[masked:sk-key]"),
        ("echo gho_" + "a1" * 18, "echo [masked:github-token]"),
        ("psql postgres://me:p@ss:w0rd@db/x", "psql postgres://me:[masked:url-password]@db/x"),
        ("redis-cli -u redis://:hunter2@h", "redis-cli -u redis://:[masked:url-password]@h"),
        ("curl -H 'Authorization: Bearer abcdef12345' u", "curl -H 'Authorization: Bearer [masked:bearer]' u"),
        ("curl -H 'authorization: basic dXNlcjpwYXNz' u", "curl -H 'authorization: basic [masked:basic]' u"),
        ("curl -u ann:hunter2 https://x", "curl -u ann:[masked:user-password] https://x"),
        ("x eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl y", "x [masked:jwt] y"),
        (
            "echo -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- > k",
            "echo [masked:private-key] > k",
        ),
        ("cat <<E\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "cat <<E\n[masked:private-key]"),
        ('{"password": "correct horse battery"}', '{"password": "[masked:key-value]"}'),
        ("mysql --password hunter2hunter2 -h x", "mysql --password [masked:key-value] -h x"),
        ("docker run -e DB_PASS=hunter2hunter2 img", "docker run -e DB_PASS=[masked:key-value] img"),
        ("a?token=abcdefgh1&x=1", "a?token=[masked:key-value]&x=1"),
        ("whsec_" + "a1" * 10 + " rk_test_" + "b2" * 10, "[masked:stripe-key] [masked:stripe-key]"),
    ],
)
def test_each_shape_is_marked_by_its_name(text, masked):
    assert mask(text) == masked


@pytest.mark.parametrize(
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
        "password=short",
        "npx task-runner-with-a-rather-long-name",
        "openssl x509 -in -----BEGIN CERTIFICATE-----",
        "cat src/secrets/token_test.py",
    ],
)
def test_what_is_no_secret_stays_readable(text):
    assert mask(text) == text


@pytest.mark.parametrize("length", range(1_960, 2_010, 7))
def test_a_secret_at_the_cut_does_not_escape(length):
    secret = "sk-" + "a1b2" * 10
    cut = mask_and_cut("x" * length + " " + secret)
    assert "sk-a" not in cut
    assert len(cut) <= 2_000


def test_a_secret_at_the_windows_border_does_not_escape():
    key = "-----BEGIN PRIVATE KEY-----" + "A" * (WINDOW - 60) + "-----END PRIVATE KEY-----"
    assert "hunter" not in mask_and_cut(key + " password=hunter2hunter2")


@pytest.mark.parametrize("unit", ["password", "-----BEGIN ", "://u:", "eyJa.", "token=", "sk-", "Bearer ", "a" * 8])
def test_a_hostile_text_takes_no_longer_than_another(unit):
    started = time.perf_counter()
    mask(unit * (4_000_000 // len(unit)))
    assert time.perf_counter() - started < 5
