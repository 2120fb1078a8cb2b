"""The user of an account."""

import pytest

from baton.kernel.base.settings import Settings
from baton.people.oidc.attempt import GOOGLE, Account, NamesNobody
from tests.support.cases import every

ISSUER = "https://login.acme.example"
MAIL = {"oidc_user_claim": "email"}
ACME = {"oidc_domain": "acme.example"}


def named(claims, issuer=ISSUER, **settings):
    own = Settings(auth="on", oidc_issuer=issuer, oidc_client_id="baton", **settings)
    return Account(issuer, {"sub": "s"} | claims).user_name(own)


@every(
    ("claims", "settings", "name"),
    [
        ({"preferred_username": "ada"}, {}, "ada"),
        ({"preferred_username": "ada@acme.example"}, {}, "ada@acme.example"),
        ({"preferred_username": "ada@acme.example"}, ACME, "ada"),
        ({"preferred_username": "ada@Acme.Example"}, ACME, "ada"),
        ({}, {"oidc_user_claim": "sub"}, "s"),
        ({"https://acme.example/login": "ada"}, {"oidc_user_claim": "https://acme.example/login"}, "ada"),
        ({"email": "ada@acme.example", "email_verified": True}, MAIL | ACME, "ada"),
        ({"email": "ada@acme.example", "email_verified": "true"}, MAIL, "ada@acme.example"),
    ],
)
def test_the_claim_names_the_user(claims, settings, name):
    assert named(claims, **settings) == name


@every(
    ("claims", "settings", "said"),
    [
        ({"email": "ada@acme.example"}, MAIL, "not verified"),
        ({"email": "ada@acme.example", "email_verified": False}, MAIL, "not verified"),
        ({"email": "ada@acme.example", "email_verified": "false"}, MAIL, "not verified"),
        ({"preferred_username": "ada@evil.example"}, ACME, "not one of"),
        ({"preferred_username": "ada@acme.example.evil.example"}, ACME, "not one of"),
        ({"preferred_username": "ada@sub.acme.example"}, ACME, "not one of"),
        ({"preferred_username": "ada"}, ACME, "not one of"),
        ({"preferred_username": "@acme.example"}, ACME, "not one of"),
        ({"preferred_username": "ada@evil.example@acme.example\n"}, ACME, "no valid user name"),
        ({"preferred_username": ""}, {}, "no valid user name"),
        ({"preferred_username": None}, {}, "no valid user name"),
    ],
)
def test_an_unproven_name_matches_no_user(claims, settings, said):
    with pytest.raises(NamesNobody, match=said):
        named(claims, **settings)


def test_an_account_that_somebody_made_at_google_with_a_company_s_address_is_not_the_company_s():
    own = {"email": "left@acme.example", "email_verified": True}
    with pytest.raises(NamesNobody, match="not managed"):
        named(own, GOOGLE, **MAIL, **ACME)
    assert named(own | {"hd": "acme.example"}, GOOGLE, **MAIL, **ACME) == "left"
