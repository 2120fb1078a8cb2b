"""Settings that cannot work end the start, and name the variable."""

import pytest
import typer

from baton.serve.settings_doc import server_settings

GOOD = {"BATON_AUTH": "on", "BATON_OIDC_ISSUER": "https://login.acme.example", "BATON_OIDC_CLIENT_ID": "baton"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"BATON_OIDC_CLIENT_ID": "baton"}, "BATON_OIDC_CLIENT_ID requires BATON_OIDC_ISSUER"),
        ({"BATON_OIDC_NAME": "Acme"}, "BATON_OIDC_NAME requires BATON_OIDC_ISSUER"),
        (GOOD | {"BATON_OIDC_CLIENT_ID": ""}, "BATON_OIDC_CLIENT_ID is needed"),
        (GOOD | {"BATON_AUTH": "off"}, "BATON_OIDC_ISSUER needs BATON_AUTH=on"),
        (GOOD | {"BATON_OIDC_ISSUER": "http://login.acme.example"}, "`BATON_OIDC_ISSUER` is"),
        (GOOD | {"BATON_OIDC_ISSUER": "login.acme.example"}, "`BATON_OIDC_ISSUER` is"),
        (GOOD | {"BATON_OIDC_ISSUER": "https://"}, "`BATON_OIDC_ISSUER` is"),
        (GOOD | {"BATON_OIDC_ISSUER": "https://a:b@login.acme.example"}, "`BATON_OIDC_ISSUER` is"),
        (GOOD | {"BATON_OIDC_ISSUER": "https://login.acme.example?x=1"}, "`BATON_OIDC_ISSUER` is"),
        (GOOD | {"BATON_OIDC_CLIENT_SECRET_FILE": "/none"}, "BATON_OIDC_CLIENT_SECRET_FILE cannot be read"),
        (GOOD | {"BATON_OIDC_CLIENT_SECRET_FILE": "/dev/null"}, "BATON_OIDC_CLIENT_SECRET_FILE is empty"),
        (
            GOOD | {"BATON_OIDC_CLIENT_SECRET_FILE": "/dev/null", "BATON_OIDC_CLIENT_SECRET": "hidden-away"},
            "are both set",
        ),
        (GOOD | {"BATON_OIDC_USER_CLAIM": "a b"}, "`BATON_OIDC_USER_CLAIM` is"),
        (GOOD | {"BATON_OIDC_DOMAIN": "@acme.example"}, "`BATON_OIDC_DOMAIN` is"),
        ({"BATON_REDIS_URL": "http://:hidden-away@h"}, "`BATON_REDIS_URL` is not valid. `redis://`, `rediss://`"),
        ({"BATON_REDIS_URL": "redis://:hidden-away/x@h"}, "`BATON_REDIS_URL` is not valid."),
        ({"BATON_DATABASE_URL": "mysql://a:hidden-away@h/x"}, "`BATON_DATABASE_URL` is not valid. `postgresql://`"),
        ({"BATON_PRICES": "cheap"}, "`BATON_PRICES` is not valid. USD per million tokens"),
        ({"BATON_EVENTS_TOPICS": "hidden-away"}, "`BATON_EVENTS_TOPICS` is not JSON, such as"),
        ({"BATON_LOCAL_DELEGATION_ENDPOINTS": '{"test": {"key": "hidden-away"}}'}, "`test.url`: field required"),
    ],
)
def test_an_invalid_setting_names_the_variable_without_secrets(env, said, monkeypatch, capsys):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(typer.Exit):
        server_settings()
    printed = capsys.readouterr().err
    assert said in printed
    assert "hidden-away" not in printed


def test_the_provider_is_called_by_its_host_where_it_has_no_name(monkeypatch):
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    assert server_settings().oidc_shown_name == "login.acme.example"
    monkeypatch.setenv("BATON_OIDC_NAME", "Acme")
    assert server_settings().oidc_shown_name == "Acme"
