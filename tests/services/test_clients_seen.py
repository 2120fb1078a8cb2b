from datetime import UTC, datetime, timedelta

import pytest

from app.services.clients_seen import silent
from app.store.clients_seen import Seen

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def seen(client, hours, user="ada"):
    return Seen(user=user, client=client, last_seen=NOW - timedelta(hours=hours))


@pytest.mark.parametrize(
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
