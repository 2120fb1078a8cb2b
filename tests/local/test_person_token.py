"""The token used by `baton`, its owner, and its storage."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from baton.local import person_token, unlocked
from baton.local.config import LocalConfig
from baton.local.person_token import NoKeyringError, drop_from_keyring, keep_in_keyring, with_token

URL = "https://baton.example.com"
IN_FILE = LocalConfig(url=URL, user="ada", token="of the hooks")


@pytest.fixture
def keyring(monkeypatch):
    """Put a keyring in place that works; `priority` and `module` are those of its backend."""
    kept, errors, module = {}, ModuleType("keyring.errors"), ModuleType("keyring")
    errors.KeyringError = LookupError
    backend = type("Backend", (), {"priority": 5, "__module__": "keyring.backends.SecretService"})
    module.get_keyring = backend
    module.set_password = lambda service, user, secret: kept.__setitem__((service, user), secret)
    module.get_password = lambda service, user: kept.get((service, user))
    module.delete_password = lambda service, user: kept.pop((service, user))
    monkeypatch.setitem(sys.modules, "keyring", module)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    monkeypatch.setattr(person_token, "find_spec", lambda _: True)
    return SimpleNamespace(kept=kept, backend=backend)


@pytest.fixture
def surroundings(monkeypatch, keyring):
    """Return what says who asks and what is unlocked, and whether somebody was asked for a token."""

    def surround(*, agent="", in_keyring="", held=""):
        asked = []
        monkeypatch.setattr("baton.shared.agent_process.own_doubt", lambda: agent)
        monkeypatch.setattr(unlocked, "exists", lambda _: bool(held))
        monkeypatch.setattr(unlocked, "ask", lambda _: asked.append("unlocked") or held)
        if in_keyring:
            keep_in_keyring(URL, in_keyring)
        return asked

    return surround


ORDER = [
    ({"BATON_TOKEN": "typed"}, {"in_keyring": "k", "held": "h"}, "of the hooks"),  # config.load() reads the variable
    ({}, {"in_keyring": "k", "held": "h"}, "k"),
    ({}, {"held": "h"}, "h"),
    ({}, {}, "of the hooks"),
    ({}, {"in_keyring": "k", "held": "h", "agent": "it descends from `claude`"}, "of the hooks"),
    ({}, {"in_keyring": "k", "held": "h", "agent": "it has no terminal"}, "of the hooks"),
]


@pytest.mark.parametrize(("env", "more", "token"), ORDER)
def test_tokens_come_in_a_fixed_order_and_a_person_s_only_to_a_person(surroundings, env, more, token):
    surroundings(**more)
    config = IN_FILE._replace(login=URL if "in_keyring" in more else "")
    assert with_token(config, env).token == token


def test_without_a_login_no_keyring_is_asked(surroundings, keyring):
    surroundings(in_keyring="k")
    assert with_token(IN_FILE, {}).token == "of the hooks"
    assert with_token(IN_FILE._replace(login="https://another.example.com"), {}).token == "of the hooks"


@pytest.mark.parametrize(
    ("priority", "module"), [(0, "keyring.backends.fail"), (-1, "keyring.backends.null"), (0.5, "keyrings.alt.file")]
)
def test_a_keyring_without_secret_storage_is_rejected(keyring, priority, module):
    keyring.backend.priority = priority
    keyring.backend.__module__ = module
    with pytest.raises(NoKeyringError, match="no keyring for secrets"):
        keep_in_keyring(URL, "t")
    assert keyring.kept == {}


def test_without_the_package_its_installation_is_shown(keyring, monkeypatch):
    monkeypatch.setattr(person_token, "find_spec", lambda _: None)
    with pytest.raises(NoKeyringError, match="baton\\[keyring\\]"):
        keep_in_keyring(URL, "t")
    drop_from_keyring(URL)


def test_a_token_is_taken_out_again(keyring):
    keep_in_keyring(URL, "t")
    assert keyring.kept == {("baton", URL): "t"}
    drop_from_keyring(URL)
    assert keyring.kept == {}
