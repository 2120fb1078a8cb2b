import asyncio
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

from baton.machines import session_projects as store
from baton.machines.session_projects import ClientActivity, LastContact, silent
from baton.rules.call.call import Principal
from tests.support.cases import every

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def seen(client, hours, user="ada"):
    return LastContact(user=user, client=client, last_seen=NOW - timedelta(hours=hours))


@every(
    ("clients", "used_hours_ago", "quiet"),
    [
        ([seen("codex", 1)], None, set()),
        ([seen("codex", 30)], None, set()),
        ([seen("codex", 30)], 2, {("ada", "codex")}),
        ([seen("codex", 30)], 30, set()),
        ([seen("codex", 30), seen("claude-code", 1)], None, {("ada", "codex")}),
        ([seen("codex", 30), seen("claude-code", 1, "bob")], None, set()),
        ([seen("codex", 24 * 8)], 2, set()),
    ],
    ids=["talks", "user-away", "token-used", "token-old", "other-client", "other-user", "given-up"],
)
def test_a_client_is_silent_when_its_user_works_without_it(clients, used_hours_ago, quiet):
    used = {} if used_hours_ago is None else {"ada": NOW - timedelta(hours=used_hours_ago)}
    assert silent(clients, used, NOW) == quiet


async def test_a_client_with_a_long_name_does_not_block_others(database):
    heard, ada = ClientActivity(database, None, "default"), Principal(user="ada")
    endless = "".join(chr(0x4E00 + number * 7_919 % 20_011) for number in range(4_096))
    for client in (endless, "codex"):
        heard.note(ada, client, "1")
    await heard.flush()
    assert {one.client for one in await store.load(database, "default")} == {"codex", endless[:200]}


async def test_a_pending_contact_is_awaited(database, monkeypatch):
    async def written(*contacts, write=store.note_contacts):
        await asyncio.sleep(0.1 * len(contacts[-1]))
        await write(*contacts)

    monkeypatch.setattr(store, "note_contacts", written)
    heard, ada = ClientActivity(database, Mock(), "default"), Principal(user="ada")
    heard.note(ada, "codex", "1")
    _, listed = await asyncio.gather(heard.flush(), heard.list_contacts(ada))
    assert [one.client for one in listed] == ["codex"]
