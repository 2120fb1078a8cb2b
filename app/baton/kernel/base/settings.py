"""The settings of a server, and the only reader of its environment."""

import ipaddress
import os
import pwd
import re
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from baton.kernel.base.oidc_settings import OidcSettings
from baton.shared.time_span import time_span

Intent = Literal["document", "test", "research"]


def _person() -> str:
    """Name the operating system's user as the hooks do, or `local` where it cannot be told."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "local"


def _seconds(value: object) -> object:
    """Return the seconds of a span such as `2h`; anything else as it is."""
    if not isinstance(value, str) or value.strip().isdecimal():
        return value
    return time_span(value.strip()) // timedelta(seconds=1)


def _also(name: str) -> AliasChoices:
    """Take a setting by the seed's name too; ours comes first."""
    return AliasChoices(f"BATON_{name.upper()}", name.upper(), name)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _needs_tokens(auth: str, host: str, database_url: str) -> bool:
    return auth == "on" or (auth == "" and (not _is_loopback(host) or database_url != ""))


def _limit(number: int, description: str) -> Any:
    """Return a limit for a server that people share; the one person of a machine's own server needs none."""

    def default(data: dict[str, Any]) -> int:
        return number if _needs_tokens(*(data.get(name, "") for name in ("auth", "host", "database_url"))) else 0

    return Field(default_factory=default, ge=0, description=description)


class ModelEndpoint(BaseModel):
    """Where a model is; the key is never shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    model: str = ""
    key: SecretStr = SecretStr("")


class Settings(OidcSettings):
    """What an operator may set, each as `BATON_` and its name in capitals; `PORT` works for the port too."""

    model_config = SettingsConfigDict(env_prefix="BATON_", frozen=True, extra="forbid", env_ignore_empty=True)

    home: Path = Field(
        Path(".baton"), description="Folder of all state: database, Valkey's files, the team's policies."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(
        8080,
        ge=0,
        le=65_535,
        validation_alias=AliasChoices("PORT", "BATON_PORT", "port"),
        description="Port to listen on; 0 takes a free one.",
    )
    redis_url: str = Field(
        "",
        description="`redis://`, `rediss://`, `unix://`, `sentinel://` or `sentinels://`; empty starts the bundled Valkey.",
    )
    database_url: str = Field("", description="`postgresql://` or `sqlite://`; empty takes SQLite in the home folder.")
    policies: Path = Field(
        default_factory=lambda data: data["home"] / "policies",
        description="Folder of the team's own policies; `policies` in the home folder.",
    )
    on_failure: Literal["allow", "block"] = Field(
        "allow",
        description="Answer of the hook endpoints when no decision can be made and the hook does not say.",
    )
    auth: Literal["", "on", "off"] = Field(
        "",
        description="`on` asks every request for a token; `off` is for loopback with the embedded database. Empty:"
        " `on` as soon as `BATON_HOST` is not loopback or `BATON_DATABASE_URL` is set.",
    )
    default_user: str = Field(
        default_factory=_person,
        max_length=200,
        description="User of requests that name none; the operating system's user.",
    )
    organisation: str = Field("default", max_length=200, description="Organisation that this server serves.")
    team: str = Field("default", max_length=200, description="Team of requests that name none.")
    auto_level: Literal["strict", "guidance"] = Field(
        "strict",
        description="Level that work items switch the mode on with; `guidance` for a soft launch.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Names in the Host header that are answered besides loopback's, separated by commas.",
    )
    redis_timeout_ms: int = Field(50, ge=5, le=10_000, description="Longest wait for Redis within a decision, in ms.")
    history_ttl_s: int = Field(86_400, ge=60, description="How long an idle session's history is kept, in seconds.")
    records_queue: int = Field(10_000, ge=1, description="Records held in memory while Redis is away.")
    records_redis_mb: int = Field(
        64,
        ge=1,
        description="MB of records that wait in Redis while the database is away; more moves to disk. From twice as much on,"
        " records are dropped in the order of docs/operations.md.",
    )
    records_spool_mb: int = Field(
        4_096, ge=0, description="MB of records that wait on disk, in the home folder, while the database is away."
    )
    workers: int = Field(
        1, ge=1, le=64, description="Processes that answer, on one socket; more than one for more than one processor."
    )
    drain_s: float = Field(
        0,
        ge=0,
        le=300,
        description="How long the server goes on serving after SIGTERM while `/readyz` answers 503, in seconds.",
    )
    rate_per_minute: int = _limit(
        6_000,
        "Calls that one user's agents may make in a minute, on all servers together, and as many starts and"
        " delegations, per worker; 0 for no limit.",
    )
    rate_burst: int = Field(1_000, ge=1, description="How many of these calls may come at once.")
    admin_per_minute: int = _limit(
        600, "Changes that one user may make by the API in a minute, per worker; 0 for no limit."
    )
    expensive_per_minute: int = _limit(
        300, "Long lists and computations that one user may ask for in a minute, per worker; 0 for no limit."
    )
    poll_s: float = Field(20, ge=0, le=20, description="Longest that a runner's poll waits for news, in seconds.")
    permission_s: float = Field(
        120,
        gt=0,
        le=86_400,
        description="How long a delegated agent waits for a person's leave, in seconds; then it is denied.",
    )
    disconnect_s: float = Field(
        86_400,
        ge=60,
        le=2_592_000,
        description="How long a job waits for its runner to be heard of again (a laptop asleep, a network cut), in seconds;"
        " then it fails.",
    )
    job_timeout_s: int = Field(
        3_600, ge=1, le=86_400, description="How long a job's agent may take that names no time, in seconds."
    )
    job_inactivity_s: int = Field(
        1_800,
        ge=0,
        le=86_400,
        description="How long a job's agent may show nothing, if the job does not say, in seconds; 0 for no limit.",
    )
    queue_expiry: Annotated[int, BeforeValidator(_seconds)] = Field(
        3_600,
        ge=0,
        le=2_592_000,
        description="How long a queued job waits while no live runner could take it, if the job does not say, in seconds or"
        " as a span such as `2h`; then it fails. 0 for no limit.",
    )
    prices: str = Field(
        "CHEAP=1/5/0.1 MEDIUM=3/15/0.3 EXPENSIVE=5/25/0.5",
        description="USD for a million tokens in/out/read from the cache (without it a tenth of in) by tier, for tasks whose agent does not say what it cost. The"
        " default is Anthropic's list price of Claude Haiku 4.5, Sonnet 4.5 and Opus 4.5 in November 2025.",
    )
    events: Literal["on", "off"] = Field("on", description="`off` publishes no events at all.")
    events_prefix: str = Field(
        "onex",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
        description="First part of the full names of all topics: `onex.evt.omniclaude.prompt-submitted.v1`.",
    )
    events_topics: dict[str, str] = Field(
        {},
        description='Full names of single topics by their short ones, as JSON: `{"prompt-submitted": "acme.prompts"}`.',
    )
    events_without: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Short names of topics that nothing is published on, separated by commas: `agent-status,modes`.",
    )
    events_tool_content: bool = Field(
        default=False, description="Publish on the restricted topic `tool-content` what tools are given and answer."
    )
    events_entries: int = Field(10_000, ge=100, description="Events that each topic's stream in Redis holds.")
    events_mb: int = Field(16, ge=1, le=4_096, description="MiB of events that each topic's stream in Redis holds.")
    events_hours: float = Field(24, gt=0, le=8_760, description="How old an event on the bus grows, in hours.")
    events_file: Path | None = Field(None, description="File that events are appended to, one a line; empty for none.")
    events_file_mb: int = Field(
        64, ge=1, le=65_536, description="Size in MiB at which that file is renamed; five older ones are kept."
    )
    events_restricted_out: bool = Field(
        default=False,
        description="Send the restricted topics, which hold prompts and file contents, to Kafka and the file too.",
    )
    kafka_url: SecretStr = Field(
        SecretStr(""),
        description="`kafka://host:9092[,host:9092]`, or `kafkas://[user:password@]…` for TLS, to send events to; needs the"
        " package `confluent-kafka`. Empty for none.",
    )
    webhook_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Hosts that webhooks may be sent to although they are internal, as `host` or `host:port`, separated by"
        " commas.",
    )
    otel_endpoint: str = Field(
        "",
        description="Base of an OTLP endpoint over HTTP that spans and log events of decisions, routes and jobs are sent"
        " to, such as `http://localhost:4318`. Needs the extra `otel`.",
    )
    otel_headers: SecretStr = Field(
        SecretStr(""), description="Headers for it, as `name=value,name=value`; never logged."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    log_format: Literal["text", "json"] = Field(
        "text", description="Form of the log on standard error; `json` is one object a line."
    )
    route_prompts: bool = Field(
        default=True, description="Tell agents by their hooks which sub-agent a person's prompt is for."
    )
    confidence_threshold: float = Field(
        0.3,
        ge=0,
        le=1,
        validation_alias=_also("confidence_threshold"),
        description="Confidence from which an agent is chosen for a prompt; `CONFIDENCE_THRESHOLD` works too.",
    )
    use_llm_routing: bool = Field(
        default=False,
        validation_alias=_also("use_llm_routing"),
        description="Ask the model of `BATON_MODEL_URL` when routing is unsure; `USE_LLM_ROUTING` works too, and"
        " `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE` must be on.",
    )
    enable_local_inference_pipeline: bool = Field(
        default=False,
        validation_alias=_also("enable_local_inference_pipeline"),
        description="Allow everything that asks a model; `ENABLE_LOCAL_INFERENCE_PIPELINE` works too.",
    )
    enable_local_delegation: bool = Field(
        default=False,
        validation_alias=_also("enable_local_delegation"),
        description="Let a local model answer prompts that it can; `ENABLE_LOCAL_DELEGATION` works too, and"
        " `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE` must be on.",
    )
    enable_local_enrichment: bool = Field(
        default=False,
        validation_alias=_also("enable_local_enrichment"),
        description="Add to a prompt what its agent should know (recent work, code, patterns); `ENABLE_LOCAL_ENRICHMENT`"
        " works too, and `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE` must be on.",
    )
    enable_pattern_enforcement: bool = Field(
        default=True,
        validation_alias=_also("enable_pattern_enforcement"),
        description="Hold finished edits to the team's patterns; the session's next prompt says what was violated."
        " `ENABLE_PATTERN_ENFORCEMENT` works too.",
    )
    external_compliance: bool = Field(
        default=False,
        description="Put patterns without a check to an external evaluator, which reads `compliance-evaluate` and posts to"
        " `/compliance/results`, or answers on Kafka or in a Redis stream (docs/events.md).",
    )
    enrichment_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Hosts of registered handlers that may be internal, as `host` or `host:port`, separated by commas.",
    )
    use_onex_routing_nodes: bool = Field(
        default=False,
        validation_alias=_also("use_onex_routing_nodes"),
        description="Ask the node of `BATON_ROUTING_NODE_URL` before the scorer; `USE_ONEX_ROUTING_NODES` works too.",
    )
    model_url: str = Field(
        "", description="Base of an OpenAI-compatible API that routing may ask, such as `http://localhost:8000/v1`."
    )
    model_name: str = Field("", max_length=200, description="Name of the model there; empty leaves it out.")
    model_key: SecretStr = Field(SecretStr(""), description="Key for it, sent as a bearer token and never logged.")
    llm_routing_timeout_s: float = Field(
        0.1,
        gt=0,
        le=30,
        validation_alias=_also("llm_routing_timeout_s"),
        description="Longest wait for the model or the node in routing, in seconds; `LLM_ROUTING_TIMEOUT_S` works too.",
    )
    routing_node_url: str = Field("", description="URL that an external routing node takes prompts at.")
    routing_node_key: SecretStr = Field(SecretStr(""), description="Key for it, sent as a bearer token.")
    breaker_slow_ms: float = Field(80, gt=0, description="A routing call that takes longer counts as slow, in ms.")
    breaker_window: int = Field(100, ge=10, le=10_000, description="Calls that a breaker looks back on.")
    breaker_least: int = Field(10, ge=1, description="Calls before which a breaker does not open.")
    breaker_open_s: float = Field(
        300, gt=0, description="Longest time that a breaker stays open before it probes, in seconds."
    )
    breaker_wilson: bool = Field(
        default=True,
        description="Open a breaker only when the counts speak for it with 95 % confidence, at first for a tenth of"
        " `BATON_BREAKER_OPEN_S`; off, more than 5 % of slow calls open it for all of that.",
    )
    local_delegation_endpoints: dict[Intent, ModelEndpoint] = Field(
        {},
        description='Models by intent, as JSON: `{"document": {"url", "model", "key"}}`, also `test` and `research`.'
        " Empty sends all three to `BATON_MODEL_URL`.",
    )
    local_delegation_confidence: float = Field(
        0.4, ge=0, le=1, description="Least confidence of the classification for a prompt to be delegated."
    )
    local_delegation_timeout_s: float = Field(
        7, gt=0, le=60, description="Longest wait for a local model's answer to a prompt, in seconds."
    )
    local_delegation_as: Literal["context", "answer"] = Field(
        "context",
        description="`context` hands the local model's answer to the agent; `answer` shows it to the person instead of"
        " asking the agent, on clients that can.",
    )
    local_delegation_prices: tuple[float, float] = Field(
        (0.015, 0.001), description="USD for 1,000 tokens of the agent's model and of the local one, as JSON."
    )
    local_delegation_tokens: dict[Intent, int] = Field(
        {"document": 800, "test": 600, "research": 400},
        description="Tokens that a delegated prompt is taken to save, by intent, as JSON.",
    )

    @property
    def llm_routing_on(self) -> bool:
        """Return whether routing may ask a model."""
        return self.use_llm_routing and self.enable_local_inference_pipeline and self.model_url != ""

    @property
    def routing_node_on(self) -> bool:
        """Return whether routing asks an external node."""
        return self.use_onex_routing_nodes and self.routing_node_url != ""

    @property
    def local_delegation_on(self) -> bool:
        """Return whether a local model may answer prompts."""
        return self.enable_local_delegation and self.enable_local_inference_pipeline

    @property
    def enrichment_on(self) -> bool:
        """Return whether prompts are enriched."""
        return self.enable_local_enrichment and self.enable_local_inference_pipeline

    @property
    def on_loopback(self) -> bool:
        """Return whether only this machine can reach the server."""
        return _is_loopback(self.host)

    @property
    def silent_topics(self) -> tuple[str, ...]:
        """The topics that nothing is published on."""
        return self.events_without if self.events_tool_content else (*self.events_without, "tool-content")

    @property
    def auth_on(self) -> bool:
        """Return whether every request needs a token."""
        return _needs_tokens(self.auth, self.host, self.database_url)

    @field_validator("otel_endpoint")
    @classmethod
    def _sendable(cls, value: str) -> str:
        if value and find_spec("opentelemetry.sdk") is None:
            raise ValueError("needs the extra `otel`, which is not installed; install `baton[server,otel]`")
        return value

    @field_validator("model_url", "routing_node_url", "otel_endpoint")
    @classmethod
    def _reachable(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must be an `http://` or `https://` URL")
        return value

    @field_validator("events_topics")
    @classmethod
    def _topic_names(cls, value: dict[str, str]) -> dict[str, str]:
        for short, full in value.items():
            if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", full):
                raise ValueError(f"`{full}` for `{short}` is no topic's name; use letters, digits, `.`, `_` and `-`")
        return value

    @field_validator("allowed_hosts", "enrichment_hosts", "events_without", "webhook_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(v.strip() for v in value.split(",") if v.strip()) if isinstance(value, str) else value
