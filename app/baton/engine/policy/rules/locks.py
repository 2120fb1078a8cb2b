"""Which rules are locked, by which lock, and which of them an admin has unlocked."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from baton.engine.text.globs import any_of


class Unlock(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that a lock does not hold for some people. `note` says who unlocked them, until when and why."""

    pattern: str
    note: str = ""


ALL_UNLOCKED = (Unlock(pattern="*"),)
"""For sets that were in force once and are read again: their locks were checked then."""


class Locks(msgspec.Struct, frozen=True, kw_only=True):
    """The locked rules. `locked` maps each rule's id to the lock as config.yaml has it, `unlocked` to its unlock's note."""

    locked: Mapping[str, str] = {}
    unlocked: Mapping[str, str] = {}

    @property
    def in_force(self) -> frozenset[str]:
        """The ids of the rules that are locked and not unlocked."""
        return frozenset(self.locked.keys() - self.unlocked.keys())

    def without(self, unlocks: Sequence[Unlock]) -> "Locks":
        """Return the same locks with more rules unlocked."""
        found = dict(self.unlocked)
        for one in unlocks:
            matches = any_of((one.pattern,))
            found |= {rule_id: one.note for rule_id in self.locked if rule_id not in found and matches(rule_id)}
        return self if found == self.unlocked else Locks(locked=self.locked, unlocked=found)


NO_LOCKS = Locks()


def locks_on(patterns: Sequence[str], rule_ids: Iterable[str]) -> Locks:
    """Return the locks that these ids and globs put on these rules."""
    ids = list(rule_ids)
    locked: dict[str, str] = {}
    for pattern in patterns:
        matches = any_of((pattern,))
        locked |= {rule_id: pattern for rule_id in ids if rule_id not in locked and matches(rule_id)}
    return Locks(locked=locked)
