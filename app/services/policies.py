"""Keeps the active policy set: loads, watches, swaps whole revisions, keeps the last good one. It judges nothing."""

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from watchfiles import awatch

from app.engine.policy.load import PolicyProblems, PolicySet, Problem, load, overlay
from app.errors import NotFound, StoreUnavailable
from app.store import policy_files, revisions
from app.store.revisions import Revision
from app.store.sql import Database, DatabaseUnavailable

log = logging.getLogger(__name__)


class PoliciesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The active revision, since when, and what keeps a newer one from becoming active."""

    revision: str
    rules: int
    loaded_at: datetime
    problems: tuple[Problem, ...] = ()


class Policies:
    """The policy set in force. A reload is one assignment: a decision sees one whole revision, never a mixture."""

    def __init__(self, shipped: Path, team: Path, database: Database, organisation: str) -> None:
        self._shipped = shipped
        self._team = team
        self._database = database
        self._organisation = organisation
        self._files: dict[str, str] = overlay(policy_files.read(shipped), {})
        self.active: PolicySet = load(self._files)
        self._loaded_at = datetime.now(UTC)
        self.problems: tuple[Problem, ...] = ()
        self.reload()

    @property
    def degraded(self) -> tuple[str, ...]:
        """Name what a decision must own up to: that a newer policy set was refused."""
        return ("policies",) if self.problems else ()

    @property
    def status(self) -> PoliciesStatus:
        """Tell people what is active and what is not."""
        return PoliciesStatus(
            revision=self.active.revision,
            rules=len(self.active.rules),
            loaded_at=self._loaded_at,
            problems=self.problems,
        )

    def reload(self) -> bool:
        """Load what the folders hold now; on any problem the last good set stays. Tell whether it was accepted."""
        try:
            files = overlay(policy_files.read(self._shipped), policy_files.read(self._team))
            fresh = load(files)
        except PolicyProblems as refused:
            self.problems = tuple(refused.problems)
            for problem in self.problems:
                log.warning("policies refused, revision %s stays: %s", self.active.revision, problem)
            return False
        except OSError as error:
            self.problems = (Problem(file=str(error.filename), line=0, text=error.strerror or str(error)),)
            return False
        self.problems = ()
        if fresh.revision != self.active.revision:
            log.info("policy revision %s is active, %s was", fresh.revision, self.active.revision)
            self.active = fresh
            self._files = files
            self._loaded_at = datetime.now(UTC)
        return True

    async def watch(self, stop: asyncio.Event) -> None:
        """Reload whenever a file of the folders changes, until told to stop."""
        self._team.mkdir(parents=True, exist_ok=True)
        async for _ in awatch(self._shipped, self._team, stop_event=stop, debounce=200, step=50):
            before = self.active
            await asyncio.to_thread(self.reload)
            if self.active is not before:
                await self.note_active()

    async def note_active(self) -> None:
        """Keep the texts of the active revision, so that records of it can be understood later."""
        try:
            await revisions.note(self._database, self._organisation, self.active.revision, self._files, self._loaded_at)
        except DatabaseUnavailable:
            log.warning("the database is away; the texts of revision %s are not kept", self.active.revision)

    async def history(self) -> list[Revision]:
        """List the revisions that were active, the latest first.

        Raises:
            StoreUnavailable: the database is away.
        """
        try:
            return await revisions.latest(self._database, self._organisation)
        except DatabaseUnavailable:
            raise StoreUnavailable("the revisions cannot be read now; try again") from None

    async def texts(self, revision: str) -> dict[str, str]:
        """Give the texts of a revision by path.

        Raises:
            NotFound: it was never active here.
            StoreUnavailable: the database is away.
        """
        try:
            found = await revisions.files(self._database, self._organisation, revision)
        except DatabaseUnavailable:
            raise StoreUnavailable("the revisions cannot be read now; try again") from None
        if found is None:
            raise NotFound(f"there is no policy revision `{revision}`")
        return found
