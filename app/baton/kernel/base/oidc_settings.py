"""OpenID Connect settings: a group of `Settings`, read only by the people room."""

from abc import abstractmethod
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})  # issuers without TLS: traffic stays on the machine


class OidcSettings(BaseSettings):
    """The OpenID provider, and the mapping from accounts to users."""

    oidc_issuer: str = Field(
        "",
        description="URL of the OpenID provider for signing in to the console, exactly as in its own metadata, such"
        " as `https://login.acme.example/realms/staff`. Requires tokens (`BATON_AUTH`). Empty: none.",
    )
    oidc_client_id: str = Field("", max_length=500, description="Client id of this server at the provider.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="Client secret. Never logged. Empty for a public client."
    )
    oidc_client_secret_file: Path | None = Field(
        None, description="File with the client secret, instead of `BATON_OIDC_CLIENT_SECRET`."
    )
    oidc_name: str = Field(
        "", max_length=100, description="Display name of the provider: `Sign in with …`. Default: the issuer's host."
    )
    oidc_user_claim: str = Field(
        "preferred_username",
        pattern=r"^[A-Za-z0-9_.:/-]{1,200}$",
        description="Claim of the ID token with the user name. `email` requires verification by the provider.",
    )
    oidc_domain: str = Field(
        "",
        max_length=253,
        pattern=r"^[A-Za-z0-9.-]*$",
        description="Domain of the account names: with `acme.example`, `ada@acme.example` is the user `ada`, and"
        " other domains are refused. Empty: whole names.",
    )

    @property
    @abstractmethod
    def auth_on(self) -> bool:
        """Return whether every request needs a token."""

    @property
    def oidc_shown_name(self) -> str:
        """The provider's name on the sign-in button."""
        return self.oidc_name or urlsplit(self.oidc_issuer).hostname or ""

    def read_oidc_client_secret(self) -> str:
        """Return the client secret, or "". Raise ValueError if the file is unreadable or empty."""
        if self.oidc_client_secret_file is None:
            return self.oidc_client_secret.get_secret_value()
        try:
            text = self.oidc_client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise ValueError(f"BATON_OIDC_CLIENT_SECRET_FILE cannot be read: {why.lower()}") from None
        if not text:
            raise ValueError("BATON_OIDC_CLIENT_SECRET_FILE is empty")
        return text

    @field_validator("oidc_issuer")
    @classmethod
    def _trustworthy(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            host = parts.hostname
        except ValueError:
            raise ValueError("must be a URL") from None
        if value and not (host and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))):
            raise ValueError("must be an `https://` URL; `http://` is only allowed for a provider on this machine")
        if parts.query or parts.fragment or "@" in parts.netloc or " " in value:
            raise ValueError("must be a URL without user, query and fragment")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse settings that lack the others they need."""
        given = self.model_fields_set
        if not self.oidc_issuer:
            alone = sorted(name for name in given if name.startswith("oidc_") and getattr(self, name))
            if alone:
                raise ValueError(f"BATON_{alone[0].upper()} requires BATON_OIDC_ISSUER")
            return self
        if not self.auth_on:
            raise ValueError(
                "BATON_OIDC_ISSUER needs BATON_AUTH=on: without tokens this machine's requests need no sign-in"
            )
        if not self.oidc_client_id:
            raise ValueError("BATON_OIDC_CLIENT_ID is needed with BATON_OIDC_ISSUER")
        if self.oidc_client_secret.get_secret_value() and self.oidc_client_secret_file is not None:
            raise ValueError("BATON_OIDC_CLIENT_SECRET and BATON_OIDC_CLIENT_SECRET_FILE are both set; keep one")
        self.read_oidc_client_secret()
        return self
