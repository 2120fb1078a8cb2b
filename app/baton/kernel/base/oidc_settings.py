"""The settings of signing in with an OpenID provider: a group of `Settings` that only the room of people reads."""

from abc import abstractmethod
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts whose issuer may do without TLS: nothing leaves the machine."""


class OidcSettings(BaseSettings):
    """Where people's accounts are, and how an account names a user."""

    oidc_issuer: str = Field(
        "",
        description="URL of the OpenID provider whose accounts sign people in to the console, exactly as the provider names"
        " itself, such as `https://login.acme.example/realms/staff`. Empty for none; needs tokens (`BATON_AUTH`).",
    )
    oidc_client_id: str = Field("", max_length=500, description="Client id that the provider gave this server.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="Client secret, never logged; empty for a client without one."
    )
    oidc_client_secret_file: Path | None = Field(
        None, description="File that holds the client secret, in the place of `BATON_OIDC_CLIENT_SECRET`."
    )
    oidc_name: str = Field(
        "", max_length=100, description="What people call the provider: `Sign in with …`; the issuer's host."
    )
    oidc_user_claim: str = Field(
        "preferred_username",
        pattern=r"^[A-Za-z0-9_.:/-]{1,200}$",
        description="Claim of the ID token that names the user; `email` counts only where the provider has verified it.",
    )
    oidc_domain: str = Field(
        "",
        max_length=253,
        pattern=r"^[A-Za-z0-9.-]*$",
        description="Domain of the accounts' names: with `acme.example`, `ada@acme.example` is the user `ada`, and names of"
        " other domains are refused. Empty takes names whole.",
    )

    @property
    @abstractmethod
    def auth_on(self) -> bool:
        """Return whether every request needs a token."""

    @property
    def oidc_shown_name(self) -> str:
        """What the button of the sign-in page says."""
        return self.oidc_name or urlsplit(self.oidc_issuer).hostname or ""

    def read_oidc_client_secret(self) -> str:
        """Return the client secret, "" for none.

        Raises:
            ValueError: The file cannot be read or is empty.
        """
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
            raise ValueError("must be an `https://` URL; `http://` is for a provider on this machine")
        if parts.query or parts.fragment or "@" in parts.netloc or " " in value:
            raise ValueError("must be a URL without user, query and fragment")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse settings of which one is of no use without another."""
        given = self.model_fields_set
        if not self.oidc_issuer:
            alone = sorted(name for name in given if name.startswith("oidc_") and getattr(self, name))
            if alone:
                raise ValueError(f"BATON_{alone[0].upper()} is of no use without BATON_OIDC_ISSUER")
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
