"""An account at the provider, and which user it names."""

from typing import Any

import msgspec

from baton.kernel.base.oidc_settings import OidcSettings

GOOGLE = "https://accounts.google.com"
LONGEST_NAME = 200


class NamesNobody(Exception):
    """The account names no user; the text says why, for the person and for the audit log."""


class Account(msgspec.Struct, frozen=True):
    """The account that the provider confirmed: its issuer, and the claims of a checked ID token."""

    issuer: str
    claims: dict[str, Any]

    @property
    def text(self) -> str:
        """The account as it is stored with a user. An issuer has no blank: what follows the first blank is the subject."""
        return f"{self.issuer} {self.claims['sub']}"

    def user_name(self, settings: OidcSettings) -> str:
        """Return the name of the user whom the account names.

        Raises:
            NamesNobody: The claim is missing, not verified, or of another domain.
        """
        claim = settings.oidc_user_claim
        name = self.claims.get(claim)
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise NamesNobody(f"the account has no claim `{claim}` that could name a user")
        if claim == "email" and self.claims.get("email_verified") not in (True, "true"):
            raise NamesNobody("the provider has not verified the account's address")
        domain = settings.oidc_domain.lower()
        if not domain:
            return name
        local, _, its = name.rpartition("@")
        if its.lower() != domain or not local:
            raise NamesNobody(f"the account `{name}` is not one of `{domain}`")
        # Anybody may have made an account of their own with a company's address; only `hd` says that it is the company's.
        if self.issuer == GOOGLE and str(self.claims.get("hd", "")).lower() != domain:
            raise NamesNobody(f"the account `{name}` is not managed by `{domain}`")
        return local
