"""People of several teams, each with their own token, on a server with tokens."""

from contextlib import ExitStack, contextmanager


def admin_token(server):
    """Return the first admin's token, as the server wrote it."""
    return (server.home / "admin-token").read_text().strip()


def token(admin, user, role="developer", team=""):
    """Make a token, and the team of its user; return its text and its id."""
    if team:
        assert admin.put(f"/teams/{team}", json={}).status_code == 200
    answer = admin.post("/tokens", json={"user": user, "role": role} | ({"team": team} if team else {}))
    assert answer.status_code == 201, answer.text
    return answer.json()["text"], answer.json()["token"]["id"]


@contextmanager
def signed_in(server, *people):
    """Return an HTTP client by name for each of these names, roles and teams, and for `admin`."""
    with ExitStack() as stack:
        clients = {"admin": stack.enter_context(server.client(Authorization=f"Bearer {admin_token(server)}"))}
        for user, role, team in people:
            text, _ = token(clients["admin"], user, role, team)
            clients[user] = stack.enter_context(server.client(Authorization=f"Bearer {text}"))
        yield clients
