"""What of the runner's environment an agent is given: an allow-list, so that no other program's secret reaches it."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from baton.runner.config import Provider

PASSED = (
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "COLORTERM", "TMP", "TMPDIR", "TZ",
    "USER", "XDG_*",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
    "BATON_CA_FILE", "BATON_ON_FAILURE", "BATON_PROJECT", "BATON_URL", "BATON_USER",
)  # fmt: skip
"""Variables that every agent gets: what programs need to run at all, to find the network, and to ask Baton."""
OF_PROVIDER: Mapping[str, tuple[str, ...]] = {
    "claude_code": ("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"),
    "codex": ("OPENAI_*", "CODEX_*"),
    "gemini": ("GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*"),
    "opencode": ("OPENCODE_*",),
}
"""Variables that one provider gets: its own credentials and settings, and nobody else's."""
_TOKEN = "BATON_TOKEN"  # noqa: S105 - a variable's name
_NEVER = frozenset(
    {
        _TOKEN,
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_PROJECT_DIR",
        "BATON_DISABLED",
        "HTMLGRAPH_ORCHESTRATOR_DISABLED",
    }
)
"""Left out whatever `env_pass` says: the runner's own token, and what an agent that started the runner was given."""


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
    """Return an agent's environment.

    Args:
        env: The runner's environment.
        name: The provider's name.
        provider: Its settings; `env` adds variables, `env_pass` names more of the runner's.
        env_pass: Names and globs that the person passes to every agent.
        thinking_tokens: The thinking budget, 0 for the agent's own.
        agent_token: The token of the attempt, "" for none.
        traceparent: The trace and the span of the attempt, "" for none.
    """
    patterns = (*PASSED, *OF_PROVIDER.get(name, ()), *env_pass, *provider.env_pass)
    exact = frozenset(patterns)
    made = {
        key: value
        for key, value in env.items()
        if key not in _NEVER and (key in exact or any(fnmatchcase(key, pattern) for pattern in patterns))
    }
    if agent_token:
        made[_TOKEN] = agent_token
    if traceparent:
        made["TRACEPARENT"] = traceparent
    made |= provider.env
    if thinking_tokens:
        made["MAX_THINKING_TOKENS"] = str(min(thinking_tokens, provider.max_thinking_tokens))
    return made
