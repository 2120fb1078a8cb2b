"""Secrets recognized by position: in a URL, a header, after a secret's name, in a key block.

Every pattern is RE2, so its time is linear. `names` judges each match: references to variables, paths and code stay
readable. Where the position alone is weak evidence, only a random-looking value is a secret.
"""

import re
from collections.abc import Callable, Iterator

import re2
from mnemonic import Mnemonic

from baton.lib.text.secrets.names import (
    BLOCK,
    DOUBLE,
    SINGLE,
    WORD,
    SecretSpan,
    is_prose,
    is_secret_name,
    is_secret_value,
    looks_random,
)

Finder = Callable[[bytes], Iterator[SecretSpan]]

_KEYWORD = r"(?:pass|pwd|secret|token|cred|[a-z0-9][_.-]?key|psk|jwt|otp|mnemonic|connectionstring|masterauth)"
_NAME = rf"[A-Za-z0-9_.$-]*{_KEYWORD}[A-Za-z0-9_.-]*"
_GAP = r"[\s\\]{0,8}"
_QUOTE = r"[\\]{0,4}[\"']"
_BARE = r"[^\s\"'`;&|<>(){},][^\s\"'`;&|<>]*"
_VALUE = rf"(?:{_QUOTE}([^\"'\n]+)|({_BARE}))"
_SEPARATOR = r"(?:=>|:=|\+=|={1,2}|:{1,2})"


def _compiled(pattern: str) -> "re2._Regexp":
    return re2.compile(pattern.encode())


_BLOCK = _compiled(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----|Private-Lines: [0-9]+)"
    r"((?s:.*?)(?:-----END [A-Z0-9 ]*-----|---- END [A-Z0-9 ]*----|Private-MAC: [0-9a-f]*|\z))"
)
_URL = _compiled(r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#:@\"'`<>\[\]]*)(?::([^\s/?#\"'`]*))?(@|[\s/?#\"'`<>]|\z)")
_QUERY = _compiled(
    r"(?i)[?&;#]([A-Za-z0-9_.%-]*(?:sig|signature|token|key|secret|password|passwd|pwd|pass|auth|code|credential|jwt|session|sid"
    r"|ticket|otp|hmac|hash|apikey|sas|state|nonce|access))=([^\s&\"'`<>#;]+)"
)
_NAMED = _compiled(rf"(?i)({_NAME})([\"'\\\]]{{0,6}}{_GAP}{_SEPARATOR}{_GAP}){_VALUE}")
_OPTION = _compiled(rf"(?i)(?:^|[\s\"'`(\[,])(-{{1,2}}{_NAME})([ \t]+|\\?[\"'],[ \t]*){_VALUE}")
_PAIR = _compiled(
    rf"(?i)\b(?:name|key)[\"'\\]{{0,4}}\s?[=:]\s?[\"'\\]{{0,4}}({_NAME})[\"'\\]{{0,4}},?\s{{1,80}}[\"'\\]{{0,4}}value[\"'\\]{{0,4}}\s?[=:]\s?{_VALUE}"
)
_MARKUP = _compiled(rf"(?i)<({_NAME})(?:\s[^<>]*)?>([^<>]+)(?:<|\z)")
_SENTENCE = _compiled(
    r"(?i)\b(?:password|passwd|passphrase|passcode|secret|token|api[ _-]?key)\s(?:is|was|to|as|of)\s(?:now\s)?[\"'`]?([^\s\"'`]{4,})"
)
_SQL = _compiled(
    r"(?i)\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?|(?:encrypted\s+|with\s+|set\s+)?password\s*(?:=\s*)?(?:for\s+\S+\s*=\s*)?)'([^'\n]+)"
)
_REDIS = _compiled(r"(?i)\b(?:requirepass|masterauth)[ \t\"']+([^\s\"']+)")
_NETRC = _compiled(r"(?i)\b(?:login|user)\s+\S+\s+password\s+([^\s\"']+)")
_PGPASS = _compiled(r"[\w.*-]+:(?:543[0-9]|6432|\*):[^\s:]+:[^\s:]+:([^\s:\"'\[][^\s:\"']*)")
_ORACLE = _compiled(r"(?i)thin:[\w$]+/([^\s@\"']+)@?")
_AUTHORIZATION = _compiled(
    r"(?i)authorization[\"'\\\]]{0,6}\s{0,3}[=:,]\s{0,3}[\"'\\]{0,4}"
    r"(basic|bearer|token|digest|negotiate|apikey|api-key|key|aws4-hmac-sha256|sharedkey|sharedaccesssignature|oauth|hawk|splunk"
    r"|genie[kK]ey|dpop|jwt|bot|ntlm|signature|dsn)?(?:[ \t]+|\+|%20|\z)?([^\s\"'\\][^\"'\n]*)"
)
_BEARER = _compiled(r"(?i)\bbearer(?:[ \t]+|%20|\+)([A-Za-z0-9._~+/=-]+)")
_BASIC = _compiled(r"(?i)\bbasic[ \t]+([A-Za-z0-9+/=_-]{12,})")
_COOKIE = _compiled(r"(?i)\b(?:set-)?cookie[\"'\\]{0,4}\s{0,3}:\s{0,3}[\"'\\]{0,4}([^\s\"'\\][^\"'\n]*)")
_NPM_AUTH = _compiled(r"(?i)(?:_auth(?:token)?|\bauth[\"'\\]{0,4})\s{0,3}[=:]\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/=_-]{6,})")
_GENERAL_KEY = _compiled(
    r"(?i)\b(?:x-[a-z-]*)?(?:auth|key|sig|cert|hash|dsn)[\"'\\]{0,4}\s{0,3}[=:]\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/=_.~-]{16,})"
)
_NEAR = _compiled(
    r"(?i)\b[A-Za-z0-9_.-]*(?:token|key|secret|credential|passphrase|login|auth)s?\b[\"'`*]{0,2}[\s:=>,(\[-]{1,6}"
    r"(?:(?:is|was|are|be|to|as|of|for|it|this|that|mine|my|your|new|the|now|here|value|below|use|using|with|set|id)\b"
    r"[\s:=>,-]{1,4}){0,4}[\"'`]{0,2}([A-Za-z0-9_./+=~-]{16,})"
)
_DIGEST = re.compile(rb"(?:0x)?(?:[0-9A-F]+|[0-9a-f]+)")
_KEY_VARIABLE = _compiled(r"\b[A-Z][A-Z0-9_]*_KEY[ \t]*=[ \t]*[\"']?([0-9a-f]{32,})\b")
_WORD = re.compile(rb"[A-Za-z]+")
_WORDS = _compiled(r"(?i)\b(?:[a-z]{3,8}[\s,;\"']{1,4}){11,24}[a-z]{3,8}\b")
_LEAST_PHRASE = 12  # minimum words of a recovery phrase
_PHRASE_WORDS = frozenset(Mnemonic("english").wordlist)
_SCHEMES_WITHOUT_PASSWORD = (b"docker", b"oci", b"docker-daemon", b"containers-storage", b"docker-archive")
_LONGEST_JUDGED = 300  # bytes of a value that decide whether it is a secret
_LONGEST_REREAD = 256  # bytes of a value that are read again for another name, to keep the time linear
_TOKEN_USER = 16  # minimum characters of a token as a URL's user name without a password
_RANDOM = 12
_LEAST_BEARER = 8
_LEAST_BEGUN = 8


def blocks(data: bytes) -> Iterator[SecretSpan]:
    """Find private keys in PEM, PGP and PuTTY form; without an end, up to the end of the string."""
    for found in _BLOCK.finditer(data):
        yield SecretSpan(found.start(1), found.end(2), "private-key", BLOCK)


def urls(data: bytes) -> Iterator[SecretSpan]:
    """Find passwords and tokens before the host of a URL, also of one cut before its `@`."""
    at, size = 0, len(data)
    while at < size and (found := _URL.search(data, at)) is not None:
        at = max(found.end(2), found.end(1), found.start() + 3)
        user, password, after = found[1], found[2], found[3]
        if password is not None and after != b"@" and b"@" in password:
            password = password[: password.rindex(b"@")]  # `://me:p@ss@host/`: a password may contain an `@`
            after = b"@"
        elif after == b"@":
            # The host may contain another `@`; the last one before the path ends the password.
            tail = data[found.end(3) : found.end(3) + 256]
            extra = re2.match(rb"[^\s/?#\"'`]*@", tail)
            if extra is not None and password is not None:
                password = data[found.start(2) : found.end(3) + extra.end() - 1]
                at = found.start(2) + len(password)
        scheme = data[found.start() : found.start(1)].rpartition(b"://")[0].lower()
        yield from _userinfo(found.start(1), user, password, after, scheme)


def _userinfo(start: int, user: bytes, password: bytes | None, after: bytes, scheme: bytes) -> Iterator[SecretSpan]:
    if after != b"@":
        # Cut before the `@`: after the colon comes a port or a password, and without a colon the name is the host.
        if password and not _is_port(password) and scheme not in _SCHEMES_WITHOUT_PASSWORD:
            certain = after == b"" or _has_digit(password)
            if certain and is_secret_value(password.decode("utf-8", "replace"), "password", literal=True):
                yield SecretSpan(start + len(user) + 1, start + len(user) + 1 + len(password), "url-password", WORD)
            if _random_user(user):
                yield SecretSpan(start, start + len(user), "url-user", WORD)
        elif after == b"" and password is None and _begins_random(user):
            yield SecretSpan(start, start + len(user), "url-user", WORD)
        return
    if password and is_secret_value(password.decode("utf-8", "replace"), "password", literal=True):
        yield SecretSpan(start + len(user) + 1, start + len(user) + 1 + len(password), "url-password", WORD)
    if _random_user(user):
        yield SecretSpan(start, start + len(user), "url-user", WORD)


def _is_port(text: bytes) -> bool:
    return len(text) <= 5 and text.isdigit()  # noqa: PLR2004 - 65535


def _begins_random(user: bytes) -> bool:
    """Return whether a URL cut before its `@` starts with a token, rather than a host."""
    digits = sum(_has_digit(user[at : at + 1]) for at in range(len(user)))
    return len(user) >= _LEAST_BEGUN and b"." not in user and b"-" not in user and digits >= 3  # noqa: PLR2004


def _random_user(user: bytes) -> bool:
    """Return whether a user name is more likely a token: long with a digit, or random. `john.smith` is a name."""
    return (len(user) >= _TOKEN_USER and not user.startswith(b"$") and b"." not in user and _has_digit(user)) or (
        len(user) >= _RANDOM and looks_random(user)
    )


def queries(data: bytes) -> Iterator[SecretSpan]:
    """Find secret parameters of a URL's query; those with a general name only if they look random."""
    for found in _QUERY.finditer(data):
        name, value = _text(found[1]), _text(found[2])
        general = not is_secret_name(name)
        certain = name.lower().replace("-", "_") in _QUERY_SECRETS
        if general and not certain and not _random_value(found[2]):
            continue
        if is_secret_value(value, name, literal=True):
            yield SecretSpan(found.start(2), found.end(2), "url-parameter", WORD)


_QUERY_NAMES = (
    "sig signature x_amz_signature x_amz_security_token x_amz_credential x_goog_signature key apikey api_key auth token"
    " access_token sv_sig se_sig policy_signature code jwt ticket"
)
_QUERY_SECRETS = frozenset(_QUERY_NAMES.split())


def named(data: bytes) -> Iterator[SecretSpan]:
    """Find values of secret names: assignments, keys of JSON, YAML and TOML, options, markup."""
    at, size = 0, len(data)
    while at < size and (found := _NAMED.search(data, at)) is not None:
        group = 3 if found.start(3) >= 0 else 4
        at = found.start(group)
        if _is_named_secret(data, found, group):
            yield _value_span(data, found.start(group), found.end(group), quoted=group == 3)  # noqa: PLR2004
        elif found.end(group) - at <= _LONGEST_REREAD:
            continue  # `env={token: X`: another name may be in a harmless value
        at = found.end(group)
    at = 0
    while at < size and (found := _OPTION.search(data, at)) is not None:
        group = 3 if found.start(3) >= 0 else 4
        at = found.end(1)
        value = _text(found[group])
        # After a space, an option's value does not start with a dash unless quoted. `docker build --secret
        # id=npmrc,src=.npmrc` names files.
        if value.startswith(("-", "id=", "type=", "src=")) or not is_secret_name(_text(found[1])):
            continue
        if is_secret_value(value, _text(found[1]), literal=True):
            at = found.end(group)
            yield _value_span(data, found.start(group), found.end(group), quoted=group == 3)  # noqa: PLR2004
    for pattern, first in ((_PAIR, 2), (_MARKUP, 2)):
        for found in pattern.finditer(data):
            group = first if found.start(first) >= 0 else first + 1
            if is_secret_name(_text(found[1])) and is_secret_value(
                _text(found[group]).strip(), _text(found[1]), quoted=True
            ):
                yield _value_span(
                    data, found.start(group), found.end(group), quoted=pattern is _PAIR and group == first
                )


def _is_named_secret(data: bytes, found: "re2._Match", group: int) -> bool:
    name, between, value = _text(found[1]), _text(found[2]), _text(found[group])
    if not is_secret_name(name) or data[max(0, found.start(1) - 8) : found.start(1)] == b"[masked:":
        return False
    quoted = group == 3  # noqa: PLR2004 - the group of quoted values
    upper = name.upper() == name
    colon = ":" in between and "=" not in between
    literal = upper and not colon
    if not is_secret_value(value, name, quoted=quoted, literal=literal):
        return False
    if name.upper() == "PWD" and value[:1] in "/~":
        return False
    if quoted or not colon:
        return True
    if name.lower() == "pass" and upper:  # `PASS: tests/a.sh`, as test runners print it
        return False
    if not is_prose(value):
        return True
    # An ordinary word after a colon is a value if it is alone in the line or quotes, and prose elsewhere.
    return "\n" not in between and _stands_alone(data, found.start(1), found.end(group))


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    quote, after = data[start - 1 : start], data[end : end + 1]
    if quote in {b"'", b'"'} and quote == after:  # a header: `-H 'X-Api-Key: …'`
        return True
    before = data[data.rfind(b"\n", 0, start) + 1 : start].strip(b" \t-\"'{,")
    return not before and after in {b"", b"\n", b"\r"} and b"\n" in data


def _value_span(data: bytes, start: int, end: int, *, quoted: bool) -> SecretSpan:
    if not quoted:
        # A quoted value with a backslash at its end is JSON within JSON.
        return SecretSpan(start, end, "key-value", WORD)
    stripped = data[start:end].rstrip(b"\\")
    return SecretSpan(start, start + len(stripped), "key-value", SINGLE if data[start - 1 : start] == b"'" else DOUBLE)


def headers(data: bytes) -> Iterator[SecretSpan]:
    """Find secrets in HTTP headers: Authorization, Cookie, and keys by any name."""
    yield from _authorizations(data)
    for found in _BASIC.finditer(data):
        if looks_random(found[1].rstrip(b"=")):
            yield SecretSpan(found.start(1), found.end(1), "basic", WORD)
    for found in _COOKIE.finditer(data):
        if b"=" in found[1] and is_secret_value(_text(found[1]), "cookie", literal=True):
            yield SecretSpan(found.start(1), found.end(1), "cookie", _quote_before(data, found.start()))
    for pattern in (_NPM_AUTH, _GENERAL_KEY):
        for found in pattern.finditer(data):
            if _random_value(found[1]):
                yield SecretSpan(found.start(1), found.end(1), "key-value", WORD)


def _authorizations(data: bytes) -> Iterator[SecretSpan]:
    for found in _AUTHORIZATION.finditer(data):
        scheme, value = (found[1] or b"").lower(), _text(found[2])
        # `Authorization: this header …` is prose; a scheme marks a real one.
        if not scheme and (is_prose(value.split(" ")[0]) or not is_secret_value(value, "authorization", quoted=True)):
            continue
        if not is_secret_value(value, "authorization", literal=True):
            continue
        name = scheme.decode() if scheme in {b"bearer", b"basic"} else "authorization"
        yield SecretSpan(found.start(2), found.end(2), name, _quote_before(data, found.start()))
    for found in _BEARER.finditer(data):
        value = _text(found[1])
        certain = (len(value) >= _LEAST_BEARER or _has_digit(found[1])) and not is_prose(value)
        if certain and is_secret_value(value, "bearer", literal=True):
            yield SecretSpan(found.start(1), found.end(1), "bearer", WORD)


def statements(data: bytes) -> Iterator[SecretSpan]:
    """Find passwords in SQL, `.netrc`, `.pgpass`, settings of Redis, and sentences such as `the password is …`."""
    for pattern in (_SQL, _REDIS, _NETRC, _PGPASS, _ORACLE):
        for found in pattern.finditer(data):
            if is_secret_value(_text(found[1]), "password", literal=True):
                yield SecretSpan(found.start(1), found.end(1), "password", SINGLE if pattern is _SQL else WORD)
    for found in _SENTENCE.finditer(data):
        value = found[1].rstrip(b".,;:!?)")
        mixed = _has_digit(value) or any(byte in b"!@#$%^&*~+=" for byte in value)
        if mixed and is_secret_value(_text(value), "password"):
            yield SecretSpan(found.start(1), found.start(1) + len(value), "password", WORD)


def near(data: bytes) -> Iterator[SecretSpan]:
    """Find random-looking words shortly after `token`, `key` etc.; a plain digest only in a variable `…_KEY`."""
    for found in _NEAR.finditer(data):
        if _random_value(found[1]) and not _DIGEST.fullmatch(found[1]) and is_secret_value(_text(found[1]), "token"):
            yield SecretSpan(found.start(1), found.end(1), "key-value", WORD)
    for found in _KEY_VARIABLE.finditer(data):
        yield SecretSpan(found.start(1), found.end(1), "key-value", WORD)


def phrases(data: bytes) -> Iterator[SecretSpan]:
    """Find recovery phrases of wallets: at least twelve words of BIP-39's list in a row."""
    for found in _WORDS.finditer(data):
        run: list[re.Match[bytes]] = []
        for word in [*_WORD.finditer(data, found.start(), found.end()), None]:
            if word is not None and word[0].decode().lower() in _PHRASE_WORDS:
                run.append(word)
                continue
            if len(run) >= _LEAST_PHRASE:
                yield SecretSpan(run[0].start(), run[-1].end(), "recovery-phrase", WORD)
            run = []


def _has_digit(value: bytes) -> bool:
    return any(b"0"[0] <= byte <= b"9"[0] for byte in value)


def _quote_before(data: bytes, start: int) -> str:
    before = data[start - 1 : start]
    return DOUBLE if before == b'"' else SINGLE if before == b"'" else "line"


def _random_value(value: bytes) -> bool:
    """Return whether a value may be generated: at least ten characters that alternate, and not a hex digest."""
    longest = max(re2.split(rb"[^A-Za-z0-9]+", value), key=len)
    return len(longest) >= 10 and looks_random(longest)  # noqa: PLR2004 - a rule of thumb


def _text(data: bytes) -> str:
    return data[:_LONGEST_JUDGED].decode("utf-8", "replace")


_STATEMENTS = (
    r"(?i)identified|password|passwd|passphrase|passcode|requirepass|masterauth|thin:|:(?:543[0-9]|6432|\*):"
    r"|(?:secret|token|key)\s(?:is|was|to|as|of)\s"
)
FINDERS: dict[str, tuple[str, Finder]] = {
    # A pattern present in every string with a match of the finder, and the finder.
    "blocks": (r"BEGIN [A-Z0-9 ]*PRIVATE KEY|Private-Lines", blocks),
    "urls": (r"://[^\s/?#\"'`<>]*[@:]|://[^\s/?#\"'`<>]{8}", urls),
    "queries": (r"[?&;#][A-Za-z0-9_.%-]+=", queries),
    "named": (
        rf"(?i){_KEYWORD}[A-Za-z0-9_.-]*(?:[\"'\\\]]{{0,6}}{_GAP}[=:+>]|[\"'\\]{{0,4}},?[\s\\]{{1,8}}[\"'\\]{{0,4}}value)|[\s\"'`(\[,^]-{{1,2}}[A-Za-z0-9_.-]*{_KEYWORD}|^-{{1,2}}[A-Za-z0-9_.-]*{_KEYWORD}",
        named,
    ),
    "headers": (
        r"(?i)authorization|bearer|basic|cookie|auth|\b(?:[a-z-]*key|sig|cert|hash|dsn)[\"'\\]{0,4}\s{0,3}[=:]",
        headers,
    ),
    "statements": (_STATEMENTS, statements),
    "near": (r"(?i)(?:token|key|secret|credential|passphrase|login|auth)s?[\s:=>,(\[\"'`*-]", near),
    "phrases": (
        r"[a-z]{3}[\s,;\"']{1,2}[a-z]{3,8}[\s,;\"']{1,2}[a-z]{3,8}[\s,;\"']{1,2}[a-z]{3,8}[\s,;\"']{1,2}[a-z]{3}",
        phrases,
    ),
}
