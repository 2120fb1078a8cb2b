from pathlib import Path

import pytest
from pydantic import ValidationError

from baton.kernel.base.settings import Settings
from baton.shared.environment import CLIENT_VARIABLES, SERVER_VARIABLES, unknown_variables


def test_with_nothing_set_the_server_is_this_machines_own():
    settings = Settings()
    assert (settings.host, settings.port, settings.home) == ("127.0.0.1", 8080, Path(".baton"))
    assert (settings.redis_url, settings.database_url, settings.on_failure) == ("", "", "allow")
    assert settings.default_user != ""


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("PORT", "9000", "port", 9000),
        ("BATON_PORT", "9001", "port", 9001),
        ("BATON_HOME", "/srv/baton", "policies", Path("/srv/baton/policies")),
        ("BATON_POLICIES", "/etc/policies", "policies", Path("/etc/policies")),
        ("BATON_ALLOWED_HOSTS", " baton.example , b ,", "allowed_hosts", ("baton.example", "b")),
        ("BATON_ON_FAILURE", "block", "on_failure", "block"),
        ("BATON_AUTO_LEVEL", "guidance", "auto_level", "guidance"),
        ("BATON_DEFAULT_USER", "ann", "default_user", "ann"),
        ("BATON_REDIS_URL", "", "redis_url", ""),
        ("BATON_REDIS_TIMEOUT_MS", "", "redis_timeout_ms", 50),
    ],
)
def test_each_variable_sets_its_field(monkeypatch, name, value, field, expected):
    monkeypatch.setenv(name, value)
    assert getattr(Settings(), field) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "70000"), ("BATON_ON_FAILURE", "maybe"), ("BATON_REDIS_TIMEOUT_MS", "0")]
)
def test_a_value_that_is_not_allowed_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize(
    ("set_", "limits"),
    [
        ({}, (0, 0, 0)),
        ({"BATON_AUTH": "on"}, (6_000, 600, 300)),
        ({"BATON_HOST": "0.0.0.0"}, (6_000, 600, 300)),
        ({"BATON_DATABASE_URL": "postgresql://db/baton"}, (6_000, 600, 300)),
        ({"BATON_DATABASE_URL": "postgresql://db/baton", "BATON_AUTH": "off"}, (0, 0, 0)),
        ({"BATON_RATE_PER_MINUTE": "5", "BATON_ADMIN_PER_MINUTE": "4"}, (5, 4, 0)),
        ({"BATON_AUTH": "on", "BATON_RATE_PER_MINUTE": "0"}, (0, 600, 300)),
    ],
)
def test_users_have_limits_where_they_share_the_server(monkeypatch, set_, limits):
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert (settings.rate_per_minute, settings.admin_per_minute, settings.expensive_per_minute) == limits


def test_a_user_the_system_does_not_know_is_local(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000)
    assert Settings().default_user == "local"


def test_every_setting_has_a_description():
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_misspelt_variables_are_reported_with_the_likely_name():
    told = unknown_variables(
        {"BATON_REDIS_ULR": "x", "BATON_ZZZ": "1", "BATON_URL": "u", "PATH": "p", "BATON_HOME": "h"}
    )
    assert told == [
        "unknown variable `BATON_REDIS_ULR`; did you mean `BATON_REDIS_URL`?",
        "unknown variable `BATON_ZZZ`",
    ]


def test_the_names_of_variables_are_those_of_the_settings():
    assert {f"BATON_{name.upper()}" for name in Settings.model_fields} == SERVER_VARIABLES
    assert not SERVER_VARIABLES & CLIENT_VARIABLES
