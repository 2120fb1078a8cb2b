"""The audit of the policies folder: changes to its files bypass the API.

An entry identifies the files by a digest. So several workers write one entry, and a change without a running server is
audited at the next start.
"""

import asyncio
import logging
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.kernel.changes.write import write
from baton.rules.call.call import Principal
from baton.rules.policy.load import Fault, PolicySet
from baton.rules.policy.replay import compare, loosened
from baton.shared import policy_folders

ACTION, FILES = "policy.reload", "files"
ACTOR = "policy files"  # the entry's actor: the server does not know the author of a file
MOST = 100  # maximum number of changes and problems per entry

log = logging.getLogger(__name__)


async def audit(
    database: Database,
    organisation: str,
    folder: Path,
    active: PolicySet,
    problems: tuple[Fault, ...],
    before: PolicySet | None = None,
) -> None:
    """Write an entry if the folder's files or problems changed. `before` was active, None at the server's start."""
    after: dict[str, Any] = {
        "revision": active.revision,
        "files": await asyncio.to_thread(_digest, folder),
        "loosened": loosened(active),
    }
    if problems:
        after["refused"] = [str(one) for one in problems[:MOST]]
    try:
        async with write(database, "policy_files", Principal(organisation=organisation, user=ACTOR), ACTION) as change:
            last = await audit_store.find_entries(database, organisation, kind="policy", object=FILES, limit=1)
            known = last[0].after if last else {"files": "", "loosened": []}
            if (known["files"], known.get("refused")) == (after["files"], after.get("refused")):
                change.unchanged()
                return
            changes = compare(before, active) if before is not None and before is not active else []
            if changes:
                after["changes"] = [" ".join(filter(None, (one.kind, one.id, one.what))) for one in changes[:MOST]]
            old = {key: value for key, value in known.items() if key != "changes"}
            await change.audit(FILES, before=old | ({"revision": before.revision} if before else {}), after=after)
    except DatabaseUnavailable:
        log.warning(
            "the database is unavailable; the change of the policy files is not audited until they change again"
        )


def _digest(folder: Path) -> str:
    try:
        files = policy_folders.read(folder)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return blake2b(msgspec.json.encode(files, order="sorted"), digest_size=8).hexdigest() if files else ""
