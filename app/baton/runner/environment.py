"""The environment of agents: an allow-list, so that no other program's secrets reach them."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from baton.local.config import load
from baton.runner.config import Provider
from baton.shared.providers import known_agent

PASSED = (
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "COLORTERM", "TMP", "TMPDIR", "TZ",
    "USER", "XDG_*",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
    "BATON_CA_FILE", "BATON_ON_FAILURE", "BATON_PROJECT", "BATON_URL", "BATON_USER",
)  # fmt: skip
"""Variables of every agent: to run at all, to reach the network, and to call Baton."""
_TOKEN = "BATON_TOKEN"  # noqa: S105 - a variable's name
_NEVER = frozenset(
    {_TOKEN, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR", "BATON_DISABLED"}
)  # never passed, whatever `env_pass` says: the runner's token, and variables of an agent that started the runner


def environment(
    env: Mapping[str, str],
    name: str,
    provider: Provider,
    env_pass: Sequence[str] = (),
    *,
    thinking_tokens: int = 0,
    agent_token: str = "",
    traceparent: str = "",
) -> dict[str, str]:
    """Return an agent's environment. `env` is the runner's; a provider's `env` adds variables.

    `env_pass`, here and in the provider, has names and globs of the runner's variables. `thinking_tokens` 0 is the
    agent's own budget. `agent_token` and `traceparent` of the attempt may be "".
    """
    patterns = (*PASSED, *known_agent(name).variables, *env_pass, *provider.env_pass)
    exact = frozenset(patterns)
    made = {
        key: value
        for key, value in env.items()
        if key not in _NEVER and (key in exact or any(fnmatchcase(key, pattern) for pattern in patterns))
    }
    if agent_token:
        made |= {_TOKEN: agent_token, "BATON_URL": load(env).url}  # hooks use a token only with its server's URL
    if traceparent:
        made["TRACEPARENT"] = traceparent
    made |= provider.env
    if thinking_tokens:
        made["MAX_THINKING_TOKENS"] = str(min(thinking_tokens, provider.max_thinking_tokens))
    return made
