"""Find the HTTP requests in a string: URLs, `host:port/path`, or a method with a path."""

import itertools
import posixpath
import re
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

_END = r"[^\s'\"`<>|;\\]"
_URL = re.compile(
    # `http://host/path`, also within a script …
    rf"[a-zA-Z][a-zA-Z0-9+.-]*://({_END}+)"
    # … or without a scheme, as curl and HTTPie accept it, if a port, a loopback name or a variable distinguishes it
    # from a file …
    rf"|(?:^|[\s='\"@(])((?:[\w.-]*:\d+|\[[0-9a-fA-F:.]+\](?::\d+)?|localhost|127(?:\.\d+)+|\$\{{?\w*URL\}}?)/{_END}*)"
    # … or as the first line of a request, or the arguments of a function sending one.
    rf"|\b(?:PUT|POST|PATCH|DELETE)\b[\s'\",=\w]{{1,16}}?((?<=[\s'\"])/{_END}*)"
)
_BRACES = re.compile(r"\{([^{}]*)\}|\[([^\[\]:])-([^\[\]:])\]")
HINTS = (":", "localhost", "127.", "URL", "PUT", "POST", "PATCH", "DELETE")
"""Every string with a match of `_URL` contains one of these; most words of a line contain none."""
_QUERY = re.compile("[?#]")
_PARTS = re.compile(r"([\w+.-]+)://([^/?#]*)([^?#]*)\??([^#]*)")
_MOST_FOUND = 64
_MOST_SPELLINGS = 64
_MOST_BRACES = 8
_LONGEST = 65_536


def split_hosts(url: str) -> SplitResult:
    """Split a URL with several hosts. Newer `urlsplit` refuses an IPv6 address after another host."""
    found = _PARTS.match(url)
    scheme, hosts, path, query = found.groups() if found else ("", "", url, "")
    return SplitResult(scheme.lower(), hosts, path, query, "")


def urls(text: str) -> Iterator[str]:
    """Yield each URL as `host:port/path`: decoded, without user, query and `..`; "" for an unknown host.

    Braces and ranges (`{a,b}`, `[a-c]`) are expanded as in curl, up to 64 spellings of a URL.
    """
    if "/" not in text or not any(hint in text for hint in HINTS) or len(text) > _LONGEST:
        return
    for match in itertools.islice(_URL.finditer(text), _MOST_FOUND):
        for spelling in itertools.islice(_written_out(match[1] or match[2] or match[3]), _MOST_SPELLINGS):
            yield _normal(spelling)


def file_path(url: str) -> str:
    """Return the path of a `file:` URL, decoded; another text as it is."""
    if url[:5].casefold() != "file:":
        return url
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return unquote(url[5:])


def _written_out(url: str, more: int = _MOST_BRACES) -> Iterator[str]:
    found = _BRACES.search(url) if more and ("{" in url or "[" in url) else None
    if found is None or url[: found.start()].endswith("$"):
        yield url
        return
    if found[1] is not None:
        middles: Iterator[str] | list[str] = found[1].split(",")
    else:
        middles = map(chr, range(ord(found[2]), min(ord(found[3]), ord(found[2]) + _MOST_SPELLINGS) + 1))
    for middle in middles:
        for rest in _written_out(url[found.end() :], more - 1):
            yield f"{url[: found.start()]}{middle}{rest}"


def _normal(url: str) -> str:
    # Twice: a proxy may decode once more than the client meant.
    decoded = unquote(unquote(url)) if "%" in url else url
    host, slash, path = _QUERY.split(decoded, 1)[0].partition("/")
    return host.rpartition("@")[2].lower() + (posixpath.normpath(f"/{path}").replace("//", "/") if slash else "")
