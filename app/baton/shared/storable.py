"""Strings storable by every database. Separate from `sql`, so that callers need not import SQLAlchemy."""

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any


def storable(text: str) -> str:
    """Replace NUL and lone surrogates: Postgres rejects the first, both databases the second."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def storable_json(value: Any) -> Any:
    """Make every string of a JSON value storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(part) for key, part in value.items()}
    return [storable_json(part) for part in value] if isinstance(value, list) else value


# Canonical project names. Every incoming project name passes through here.
#
# `canonical` needs no file of the client's machine. The shim resolves `HostName` and `insteadOf`.

_REMOTE = re.compile(
    r"(?:[A-Za-z][\w+.-]*://)(?P<url>.*)|(?:[^\s/@:]+@)(?P<host>\[[^\]]*\]|[^\s/:]+):(?P<path>.*)", re.DOTALL
)  # a git remote: a URL, or `user@host:path`
_HOSTED = re.compile(r"(?:[^/]*@)?(\[[^\]]*\]|[^/:\[]+)(?::(\d*))?/+(.+)", re.DOTALL)
_DEFAULT_PORTS = frozenset({"", "22", "80", "443", "9418"})
_HOSTS = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}  # alternative host names of forges, for SSH on port 443
_FOLDS_CASE = re.compile(r"(?:^|[.-])(?:github|gitlab|bitbucket|codeberg|gitea|forgejo|dev\.azure)\b")
"""Forges with case-insensitive paths, self-hosted ones included."""
_AZURE_SSH = re.compile(r"v3/([^/]+)/([^/]+)/")


def canonical(name: str) -> str:
    """Return the canonical spelling of a remote. Idempotent. Other names (a folder) are unchanged."""
    name = name.strip()
    remote = _REMOTE.fullmatch(name)
    if remote:
        name = remote["url"] if remote["url"] is not None else f"{remote['host']}/{remote['path']}"
    hosted = None if name.startswith(("/", "~", ".")) or "\\" in name or name[1:3] == ":/" else _HOSTED.fullmatch(name)
    if hosted is None:
        return _bare(name) if name.startswith("/") else name
    host = hosted[1].lower().rstrip(".")
    host = _HOSTS.get(host, host)
    path = _bare(re.sub("/{2,}", "/", hosted[3]))
    if _FOLDS_CASE.search(host):
        path = path.lower()
    if host == "dev.azure.com":
        path = _AZURE_SSH.sub(r"\1/\2/_git/", path)
    port = "" if (hosted[2] or "") in _DEFAULT_PORTS else f":{hosted[2]}"
    return f"{host}{port}/{path}"


def _bare(path: str) -> str:
    """Strip trailing slashes and `.git`."""
    return path.rstrip("/").removesuffix(".git").rstrip("/") or path[:1]


class _Aliases:
    """The organisation's project aliases. `generation` counts their changes, to invalidate dependent caches."""

    generation = 0
    known: Mapping[str, str] = {}


def learn(aliases: Mapping[str, str]) -> None:
    """Set the current aliases. Keys and values are canonical names."""
    if aliases != _Aliases.known:
        _Aliases.known = dict(aliases)
        _Aliases.generation += 1
        project_name.cache_clear()


def aliases_of(names: Container[str]) -> dict[str, str]:
    """Return the other names of some projects."""
    return {name: project for name, project in sorted(_Aliases.known.items()) if project in names}


def generation() -> int:
    """Return a number that changes with the aliases."""
    return _Aliases.generation


@lru_cache(maxsize=4_096)
def project_name(name: str) -> str:
    """Return the canonical project name, with aliases resolved."""
    found = canonical(name)
    return _Aliases.known.get(found, found)
