"""Secret names of variables, keys, options and headers, and harmless values."""

import re
from functools import lru_cache
from itertools import pairwise

import msgspec

# Spans of secrets, and whether a run of characters looks random.

WORD, DOUBLE, SINGLE, BLOCK = "word", '"', "'", "block"
"""Terminators of a secret cut off by the end of a string: delimiter, quote, or last line of a key block."""

_LEAST_CHANGES = 0.3
_HEX = frozenset(b"0123456789abcdef")


class SecretSpan(msgspec.Struct, frozen=True):
    """A secret: its bytes from `start` to `end` (exclusive), the mask's name, and its terminator."""

    start: int
    end: int
    name: str
    ends_at: str


def looks_random(run: bytes) -> bool:
    """Return whether characters alternate as in a generated token, unlike words and hex digests.

    A generated base62 string changes between lower case, upper case and digits at six of ten positions, `camelCase` at
    two.
    """
    if len(run) < 2 or _HEX.issuperset(run):  # noqa: PLR2004 - one character changes into nothing
        return False
    kinds = [0 if 97 <= byte <= 122 else 1 if 65 <= byte <= 90 else 2 for byte in run]  # noqa: PLR2004 - ASCII
    changes = sum(before != after for before, after in pairwise(kinds))
    return changes >= _LEAST_CHANGES * len(run)


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ALONE = _set(
    "password passwords passwd passphrase passcode pwd pass secret secrets token credential credentials creds apikey psk jwt"
    " authtoken accesstoken secretkey privatekey accesskey authkey accountkey sharedaccesskey clientsecret apitoken"
    " identitytoken registrytoken refreshtoken idtoken userpassword dbpassword authkeys requirepass masterauth"
    " connectionstring mnemonic otp totp storepass keypass userpass dbpass adminpass rootpass pgpass sshpass mysqlpwd"
    " passin passout apisecret appsecret sessiontoken bottoken"
)
_ENDINGS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey")
"""Ends of compound words: `PGPASSWORD`, `USERTOKEN`."""
_PASSWORDS = _set("password passwords passwd passphrase passcode pwd pass psk")
_KEYS = _set(
    "api access private secret signing account encryption master client auth shared storage session service deploy"
    " admin root license licence subscription functions ssh app application consumer publishable primary secondary"
    " decryption crypt crypto hmac sas webhook team project user write read ingest integration restricted live test"
    " anon role rsa ecdsa ed25519 tls ssl cert pgp gpg unseal recovery preshared wireguard authentication"
)  # words before `key` in a secret's name. `key` alone is not one, nor is a database's `primary_key`.
_NOT_KEYS = frozenset(
    ["primary", "test", "read", "write", "role", "project", "user", "team", "cert", "live", "session"]
)  # of these, only a random-looking value is a secret: `primary_key=order_id`
_AFTER = _set(
    "prod production dev development test testing stage staging ci base old new current previous value live github"
    " gitlab db database main primary secondary backup ro rw root admin confirmation confirm repeat again data env"
    " key b64 base64 hex plain text string default user id"
)  # words that may follow in a lower-case name: `password_confirmation`, `client-key-data`
_HARMLESS = _set(
    "count min max length len size ttl expiry expires expiration exp in timeout type types file files path paths dir"
    " directory url uri endpoint host port name names arn policy iterations algorithm alg field fields header headers"
    " prefix suffix ref version limit limits budget usage rotation days hours minutes seconds ms enabled disabled"
    " required reset store manager provider helper hint regex pattern strength rules validator format encoding issuer"
    " audience scope scopes status index idx label class column columns attempts stdin rounds cost lifetime age"
    " reuse history command cmd program prompt input output page form link script expired valid exists method mode"
    " through rate ratio percent source fd bits digest fingerprint checksum char chars charset needed generator"
    " per used left total price budget ids table service account accounts group groups set sets list lists"
)
_NEGATED = frozenset(["no", "without", "skip", "disable", "forgot", "has", "is", "require", "requires", "show", "hide"])
_KNOWN_VALUES = _set(
    "none null nil true false undefined string str int integer bool boolean bytes any required optional yes no on off"
    " text object number float char varchar unknown empty redacted hidden removed omitted masked secret password token"
    " passwd pwd username user basic bearer digest negotiate"
)
_REFERENCE = re.compile(
    r"""["'\\]*(?:\$(?:\w+|[({][^\s]*|env:\w*|)|\[masked:[a-z0-9-]+\]|\[[A-Z_ ]+\]|<[^<>]*>?|\{\{.*|\{\w*\}?|%\w+%|@\w+@"""
    r"""|\*+|[xX]{3,}|\.{2,}|…|`.*|os\.environ.*|process\.env.*|ENV\[.*|env\(.*)["'\\,;)}\]]*""",
    re.DOTALL,
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*[(\[{].*|[a-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[,;)]*", re.DOTALL
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.@+-]{1,40})+/?|[A-Za-z]:\\.*|(?:https?|file|ssh|git|s3|gs|arn)(?::|://).*", re.DOTALL
)
_PROSE = re.compile(r"[a-z]{1,11}[.,;:!?)]*|[A-Z]?[a-z]{1,11}[.,;:!?)]*")
_SMALL = re.compile(r"[0-9]{1,4}(?:\.[0-9]+)?[,;)]*")


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Return whether a name denotes a secret: `DB_PASSWORD`, `apiKey`, `X-Auth-Token`."""
    words = _words(name)
    if not words or words[-1] in _HARMLESS or words[0] in _NEGATED:
        return False
    upper = name.upper() == name
    for at, word in enumerate(words):
        pair = word == "key" and at > 0 and words[at - 1] in _KEYS
        if not (pair or word in _ALONE or word.endswith(_ENDINGS)):
            continue
        if upper or all(one in _AFTER or one.isdigit() for one in words[at + 1 :]):
            return True
    return False


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(name)]
    return words[:-1] if len(words) > 1 and words[-1].isdigit() else words


def is_secret_value(value: str, name: str, *, quoted: bool = False, literal: bool = False) -> bool:
    """Return whether the value of a secret's name may be one, rather than a reference, a path or code.

    Args:
        value: The string after the name, quotes removed.
        name: The name.
        quoted: Whether it was quoted, so it is not code.
        literal: Whether the place is a shell's or a settings file's: every word is a literal.
    """
    if not value or _REFERENCE.fullmatch(value):
        return False
    words = _words(name)
    of_password = not _PASSWORDS.isdisjoint(words) or any(word.endswith(_ENDINGS[:4]) for word in words)
    if _PATH.fullmatch(value) and not _random_path(value):
        return False
    if not of_password and _SMALL.fullmatch(value):
        return False
    if words == ["pass"] and _SMALL.fullmatch(value):  # `pass: 12, fail: 1`
        return False
    bare = value.strip("\"'\\,;)}]").lower()
    if not literal and (not bare or bare in _KNOWN_VALUES or bare in words or _WORD.findall(bare) == words):
        return False
    if words[-1:] == ["key"] and len(words) > 1 and words[-2] in _NOT_KEYS and value.replace("_", "").isalpha():
        return False
    return quoted or literal or not (_CODE.fullmatch(value) or _names_a_secret(value))


def is_prose(value: str) -> bool:
    """Return whether a value is an ordinary short word, as after a sentence's colon."""
    return _PROSE.fullmatch(value) is not None


def _names_a_secret(value: str) -> bool:
    """Return whether a value is itself a variable's name: `password=user_password`."""
    return value.rstrip(",;)").isidentifier() and "_" in value and is_secret_name(value.rstrip(",;)"))


def _random_path(value: str) -> bool:
    """Return whether an apparent path is more like base64: secrets of AWS may begin with a slash."""
    letters = max(re.split(r"[/.:]", value), key=len)
    digits = sum(one.isdigit() for one in letters)
    upper = sum(one.isupper() for one in letters)
    return len(letters) >= 16 and digits >= 2 and upper >= 2 and "-" not in letters  # noqa: PLR2004 - a rule of thumb
