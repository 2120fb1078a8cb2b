"""The bundle of a relay: fetched from the server, kept on disk, checked by its digest, compiled in the background."""

import contextlib
import gzip
import os
import re
import threading
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from baton.local.config import BUNDLE, replace_file, save
from baton.local.hook.main import read_config
from baton.relay.upstream import Send
from baton.relay.wire import Fields, field
from baton.rules.policy.load import PolicySet, fitting, only, rebuilt
from baton.shared import storable
from baton.shared.bundle import Bundle

FRESH_S = 60.0
"""How old a bundle may be, in seconds, before the next hook lets it be fetched again."""
OLD_S = 86_400.0
"""Age, in seconds, from which only guardrails and locked rules hold."""
FETCH_S = 10.0
MOST_SPOOLED = 256 << 20
"""Bytes of records that wait for the server; further ones are lost, and counted."""
_STAMPED_S = 3_600.0
"""How often the time of an unchanged bundle is written."""
_STORED = re.compile(r"([0-9a-f]{64}) (\d{1,10}) ([0-9a-f]{64}) (-?\d{1,10})")
_SAME_S = 5.0
"""Difference of two clocks, in seconds, that is none: a `Date` has whole seconds, and takes time to arrive."""


class Bundles:
    """The newest bundle and its policy sets. `owner` is the digest of the identity that it was fetched with."""

    def __init__(self, config: Path, server: str, send: Send) -> None:
        self._config, self.server, self.send = config, server, send
        self.using = threading.RLock()
        """Held while the rules are used or replaced: their caches belong to one thread at a time."""
        self.owner = self._digest = ""
        self.confirmed = self._stamped = self.tried = 0.0
        """When the server last sent or confirmed the bundle, and when it was last asked: seconds since 1970."""
        self.bundle: Bundle | None = None
        self.spool: RecordSpool | None = None
        """The records of the bundle's user for this server. A new token of the user changes nothing about them."""
        self.is_changed = False
        """Whether another program has changed or removed the stored bundle."""
        self.ahead = 0.0
        """Seconds that the server's clock is ahead of this machine's."""
        self._base: PolicySet | None = None
        self._sets: dict[tuple[str, bool], tuple[PolicySet, tuple[str, ...]]] = {}

    @property
    def is_old(self) -> bool:
        """Whether only guardrails and locked rules hold."""
        return time.time() - self.confirmed > OLD_S

    @property
    def as_of(self) -> str:
        """The time of the last confirmation, for people; "" without a bundle."""
        return f"{datetime.fromtimestamp(self.confirmed, UTC):%Y-%m-%d %H:%M} UTC" if self.bundle else ""

    def now(self) -> datetime:
        """Return the time by the server's clock."""
        return datetime.now(UTC) + timedelta(seconds=self.ahead)

    def path(self, owner: str, kind: str) -> Path:
        """Return the place of an owner's file."""
        return self._config.parent / f"relay-{owner[:16]}.{kind}"

    def load(self) -> None:
        """Read the stored bundle, and compile it. The config file has its digest, its time, its owner and `ahead`."""
        if not (stored := read_config(str(self._config)).get(BUNDLE, "")):
            return
        content = b""
        if found := _STORED.fullmatch(stored):
            with contextlib.suppress(OSError):
                content = self.path(found[3], "json").read_bytes()
        self.is_changed = found is None or sha256(content).hexdigest() != found[1]
        if found and not self.is_changed:
            self.confirmed = self._stamped = min(float(found[2]), time.time())
            self.ahead = float(found[4])
            self._take(found[3], found[1], content)

    def fetch(self, owner: str, headers: Fields) -> bool:
        """Ask for a newer bundle. Return whether the server has answered; OSError passes through."""
        self.tried = time.time()
        known = self._digest if owner == self.owner else ""
        more = [("If-None-Match", f'"{known}"'), ("Accept-Encoding", "gzip")]
        status, given, content, _ = self.send("GET", "/bundle", b"", [*headers, *more], FETCH_S)
        if status not in {200, 304}:
            return status < 500  # noqa: PLR2004 - a server's own failure
        if is_new := status == 200:  # noqa: PLR2004 - OK
            content = gzip.decompress(content) if field(given, "content-encoding") == "gzip" else content
            digest = sha256(content).hexdigest()
            if field(given, "etag").removeprefix("W/") != f'"{digest}"':
                return True  # something between changes the answers
            self._take(owner, digest, content)
        # Before they are kept: a full disk makes no rules old.
        self.confirmed, self.is_changed, before = time.time(), False, self.ahead
        self.ahead = _ahead_by(field(given, "date"))
        if is_new:
            replace_file(self.path(owner, "json"), content, mode=0o600)
        if is_new or abs(self.ahead - before) > _SAME_S or self.confirmed - self._stamped > _STAMPED_S:
            self._stamped = self.confirmed
            save({BUNDLE: f"{self._digest} {self.confirmed:.0f} {owner} {self.ahead:.0f}"}, path=self._config)
        return True

    def _take(self, owner: str, digest: str, content: bytes) -> None:
        bundle = msgspec.json.decode(content, type=Bundle)
        base = rebuilt([one for one in bundle.layers if not one.narrow], bundle.unlocks)
        with self.using:
            storable.learn(bundle.aliases)
            self._base, self.bundle, self.owner, self._digest, self._sets = base, bundle, owner, digest, {}
            user = f"{self.server} {bundle.principal.organisation} {bundle.principal.user}"
            path = self.path(sha256(user.encode()).hexdigest(), "jsonl")
            if self.spool is None or self.spool.path != path:
                self.spool = RecordSpool(path)

    def policies(self, bundle: Bundle, project: str) -> tuple[PolicySet, tuple[str, ...]]:
        """Return the rules in force in a project, and why they are not all."""
        assert self._base is not None  # noqa: S101 - there is one with each bundle
        found = self._sets.get((project, is_old := self.is_old))
        if found is None:
            narrow = [one for one in bundle.layers if one.tier in {"team", "user"} or one.name == project]
            policies, problems = fitting(self._base, [one for one in narrow if one.narrow], bundle.unlocks)
            if is_old:
                locked = policies.locked
                policies = only(policies, lambda rule: rule.id.startswith("guardrails/") or rule.id in locked)
            found = self._sets[project, is_old] = policies, ("policies",) if problems or is_old else ()
        return found


def _ahead_by(date: str) -> float:
    """Return how many seconds a server's clock is ahead, by its `Date` header."""
    with contextlib.suppress(ValueError):
        at = datetime.strptime(date, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
        if abs(ahead := at.timestamp() - time.time()) > _SAME_S:
            return ahead
    return 0.0


class RecordSpool:
    """Records that wait for the server, a line of JSON each.

    Those delivered stay in the file until the last is: the server stores a record once, should it be sent again.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._delivered = path, 0
        self._expected = len(self)

    @property
    def refused(self) -> "RecordSpool":
        """The records that the server never takes."""
        return RecordSpool(self.path.with_suffix(".refused"))

    def add(self, line: bytes) -> None:
        """Keep a record. Raise OSError if it cannot."""
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size > MOST_SPOOLED:
                raise OSError("too many records wait")
            if size and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line  # the machine has stopped in the middle of a record
            if os.write(handle, line + b"\n") <= len(line):
                os.ftruncate(handle, size)
                raise OSError("the disk is full")
            self._expected += 1
        finally:
            os.close(handle)

    def first(self, most: int) -> list[bytes]:
        """Return the oldest records; none without a file."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            file.seek(self._delivered)
            return [line.removesuffix(b"\n") for line in islice(file, most)]
        return []

    def drop(self, lines: list[bytes]) -> None:
        """Forget the oldest records."""
        self._delivered += sum(map(len, lines)) + len(lines)
        self._expected -= len(lines)

    def end(self) -> int:
        """Remove the file. Return how many records another program has removed from it."""
        self.path.unlink(missing_ok=True)
        missing, self._expected, self._delivered = max(0, self._expected), 0, 0
        return missing

    def __len__(self) -> int:
        """Return how many records wait."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            file.seek(self._delivered)
            return sum(1 for _ in file)
        return 0
