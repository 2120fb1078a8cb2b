"""The names of all environment variables used by Baton, on the server and on developers' machines."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

CLIENT_VARIABLES = frozenset(
    {
        "BATON_CA_FILE",
        "BATON_DEBUG",
        "BATON_DISABLED",
        "BATON_JOB",
        "BATON_PROJECT",
        "BATON_ROOT",
        "BATON_SESSION",
        "BATON_TOKEN",
        "BATON_TREE",
        "BATON_URL",
        "BATON_USER",
        "BATON_WORK_ITEMS",
        "BATON_WORK_ITEMS_COMMAND",
    }
)  # variables of the hooks and the command line, unused by the server
SERVER_VARIABLES: frozenset[str] = frozenset({
    "BATON_ADMIN_PER_MINUTE", "BATON_ALLOWED_HOSTS", "BATON_AUTH", "BATON_AUTO_LEVEL", "BATON_BREAKER_SLOW_MS",
    "BATON_CONFIDENCE_THRESHOLD", "BATON_DATABASE_URL", "BATON_DEFAULT_USER", "BATON_DISCONNECT_S", "BATON_DRAIN_S",
    "BATON_ENABLE_LOCAL_DELEGATION", "BATON_ENABLE_LOCAL_ENRICHMENT", "BATON_ENABLE_LOCAL_INFERENCE_PIPELINE",
    "BATON_ENABLE_PATTERN_ENFORCEMENT", "BATON_EVENTS", "BATON_EVENTS_FILE", "BATON_EVENTS_HOURS",
    "BATON_EVENTS_PREFIX", "BATON_EVENTS_RESTRICTED_OUT", "BATON_EVENTS_TOPICS", "BATON_EVENTS_WITHOUT",
    "BATON_EXPENSIVE_PER_MINUTE", "BATON_EXTERNAL_COMPLIANCE", "BATON_HISTORY_TTL_S", "BATON_HOME", "BATON_HOST",
    "BATON_JOB_INACTIVITY_S", "BATON_JOB_TIMEOUT_S", "BATON_KAFKA_URL", "BATON_LLM_ROUTING_TIMEOUT_S",
    "BATON_LOCAL_DELEGATION_AS", "BATON_LOCAL_DELEGATION_ENDPOINTS", "BATON_LOCAL_DELEGATION_TIMEOUT_S",
    "BATON_LOG_FORMAT", "BATON_LOG_LEVEL", "BATON_MODEL_KEY", "BATON_MODEL_NAME", "BATON_MODEL_URL",
    "BATON_OIDC_CLIENT_ID", "BATON_OIDC_CLIENT_SECRET", "BATON_OIDC_CLIENT_SECRET_FILE", "BATON_OIDC_DOMAIN",
    "BATON_OIDC_ISSUER", "BATON_OIDC_NAME", "BATON_OIDC_USER_CLAIM", "BATON_ON_FAILURE", "BATON_ORGANISATION",
    "BATON_OTEL_ENDPOINT", "BATON_OTEL_HEADERS", "BATON_PERMISSION_S", "BATON_POLICIES", "BATON_POLL_S", "BATON_PORT",
    "BATON_PRICES", "BATON_QUEUE_EXPIRY", "BATON_RATE_BURST", "BATON_RATE_PER_MINUTE", "BATON_RECORDS_REDIS_MB",
    "BATON_RECORDS_SPOOL_MB", "BATON_REDIS_TIMEOUT_MS", "BATON_REDIS_URL", "BATON_ROUTE_PROMPTS",
    "BATON_ROUTING_NODE_KEY", "BATON_ROUTING_NODE_URL", "BATON_TEAM", "BATON_USE_LLM_ROUTING", "BATON_USE_ROUTING_NODE",
    "BATON_WEBHOOK_HOSTS", "BATON_WORKERS",
})  # fmt: skip
"""Variables of the server: `BATON_` and the name of a field of `Settings`, compared by a test.

Listed here because the command line warns of misspelt ones, and is installed without the server's dependencies.
"""


def unknown_variables(
    environ: Mapping[str, str], known: Iterable[str] = SERVER_VARIABLES | CLIENT_VARIABLES
) -> list[str]:
    """Describe each unknown `BATON_` variable, with a suggested spelling."""
    names = frozenset(known)
    problems = []
    for name in sorted(environ):
        if name.startswith("BATON_") and name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.75)
            problems.append(f"unknown variable `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    return problems
