"""The server's settings. Only this module reads its environment."""

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
    """Return the operating system's user as the hooks do, or `local` if unknown."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "local"


def _seconds(value: object) -> object:
    """Convert a span such as `2h` to seconds. Return anything else unchanged."""
    if not isinstance(value, str) or value.strip().isdecimal():
        return value
    return time_span(value.strip()) // timedelta(seconds=1)


def _also(name: str) -> AliasChoices:
    """Also accept a setting without the prefix. The `BATON_` name takes precedence."""
    return AliasChoices(f"BATON_{name.upper()}", name.upper(), name)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _needs_tokens(auth: str, host: str, database_url: str) -> bool:
    return auth == "on" or (auth == "" and (not _is_loopback(host) or database_url != ""))


def _limit(number: int, description: str) -> Any:
    """Return a limit for shared servers. Default on a personal server: no limit."""

    def default(data: dict[str, Any]) -> int:
        return number if _needs_tokens(*(data.get(name, "") for name in ("auth", "host", "database_url"))) else 0

    return Field(default_factory=default, ge=0, description=description)


class ModelEndpoint(BaseModel):
    """A model's endpoint. The key is never shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    model: str = ""
    key: SecretStr = SecretStr("")


class Settings(OidcSettings):
    """The operator's settings. Each is read from `BATON_` plus its upper-case name; the port also from `PORT`."""

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
        description="Port to listen on. 0: any free port.",
    )
    redis_url: str = Field(
        "",
        description="`redis://`, `rediss://`, `unix://`, `sentinel(s)://` or `cluster(s)://`. Empty: start the bundled Valkey.",
    )
    database_url: str = Field("", description="`postgresql://` or `sqlite://`. Empty: SQLite in the home folder.")
    policies: Path = Field(
        default_factory=lambda data: data["home"] / "policies",
        description="Folder of the team's own policies. Default: `policies` in the home folder.",
    )
    on_failure: Literal["allow", "block"] = Field(
        "allow",
        description="Answer of the hook endpoints if no decision is possible and the hook does not specify one.",
    )
    auth: Literal["", "on", "off"] = Field(
        "",
        description="`on`: every request requires a token. `off`: only for loopback with the embedded database."
        " Empty: `on` if `BATON_HOST` is not loopback or `BATON_DATABASE_URL` is set.",
    )
    default_user: str = Field(
        default_factory=_person,
        max_length=200,
        description="User of requests without a user. Default: the operating system's user.",
    )
    organisation: str = Field("default", max_length=200, description="Organisation of this server.")
    team: str = Field("default", max_length=200, description="Team of requests without a team.")
    auto_level: Literal["strict", "guidance"] = Field(
        "strict", description="Level of the mode when work items switch it on. `guidance` allows a soft launch."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Accepted Host headers in addition to loopback's, separated by commas."
    )
    redis_timeout_ms: int = Field(50, ge=5, le=10_000, description="Redis timeout within a decision, in ms.")
    history_ttl_s: int = Field(86_400, ge=60, description="Retention of an idle session's history, in seconds.")
    records_redis_mb: int = Field(
        64,
        ge=1,
        description="MB of the log in Redis. Beyond it the oldest stored entries are removed; while the database is"
        " unavailable, unstored ones move to disk. From twice this size on, entries are dropped in the order of"
        " docs/operations.md.",
    )
    records_spool_mb: int = Field(
        4_096, ge=0, description="MB of records kept on disk, in the home folder, while the database is unavailable."
    )
    workers: int = Field(1, ge=1, le=64, description="Number of worker processes. They share the listening socket.")
    drain_s: float = Field(
        0, ge=0, le=300, description="Seconds to continue serving after SIGTERM, while `/readyz` answers 503."
    )
    rate_per_minute: int = _limit(
        6_000,
        "Calls per minute of one user's agents, on all servers together; starts and delegations per worker."
        " 0: no limit.",
    )
    rate_burst: int = Field(1_000, ge=1, description="Maximum number of these calls at once.")
    admin_per_minute: int = _limit(600, "Changes per minute of one user through the API, per worker. 0: no limit.")
    expensive_per_minute: int = _limit(
        300, "Long lists and computations per minute of one user, per worker. 0: no limit."
    )
    poll_s: float = Field(20, ge=0, le=20, description="Timeout of a runner's long poll, in seconds.")
    permission_s: float = Field(
        120, gt=0, le=86_400, description="Seconds to wait for approval before a delegated agent's request is denied."
    )
    disconnect_s: float = Field(
        86_400,
        ge=60,
        le=2_592_000,
        description="Seconds before a job without contact to its runner fails (a laptop asleep, a network cut).",
    )
    job_timeout_s: int = Field(3_600, ge=1, le=86_400, description="Default timeout of a job's agent, in seconds.")
    job_inactivity_s: int = Field(
        1_800, ge=0, le=86_400, description="Default timeout of a job's agent without output, in seconds. 0: no limit."
    )
    queue_expiry: Annotated[int, BeforeValidator(_seconds)] = Field(
        3_600,
        ge=0,
        le=2_592_000,
        description="Default time before a queued job without a suitable live runner fails, in seconds or as a span"
        " such as `2h`. 0: no limit.",
    )
    prices: str = Field(
        "CHEAP=1/5/0.1 MEDIUM=3/15/0.3 EXPENSIVE=5/25/0.5",
        description="USD per million tokens in/out/read from cache, by tier, for tasks without reported costs."
        " Without a third price, cache reads cost a tenth of input. Default: Anthropic's list prices of"
        " Claude Haiku 4.5, Sonnet 4.5 and Opus 4.5 in November 2025.",
    )
    events: Literal["on", "off"] = Field("on", description="`off`: publish no events.")
    events_prefix: str = Field(
        "baton",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
        description="First part of the full names of all topics, such as `baton.prompt-submitted.v1`.",
    )
    events_topics: dict[str, str] = Field(
        {}, description='Full names of single topics by short name, as JSON: `{"prompt-submitted": "acme.prompts"}`.'
    )
    events_without: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Short names of unpublished topics, separated by commas: `tool-executed,modes`."
    )
    events_hours: float = Field(24, gt=0, le=8_760, description="Retention of stored entries of the log, in hours.")
    events_file: Path | None = Field(None, description="File for events, one per line. Empty: no file.")
    events_restricted_out: bool = Field(
        default=False,
        description="Send restricted topics (prompts and file contents) to Kafka, ClickHouse and the file, too.",
    )
    kafka_url: SecretStr = Field(
        SecretStr(""),
        description="Destination of events: `kafka://host:9092[,host:9092]`, or `kafkas://[user:password@]…` for TLS;"
        " requires the package `confluent-kafka`. Or `clickhouse://[user:password@]host:8123/database/table`,"
        " `clickhouses://…` for TLS. Empty: none.",
    )
    webhook_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Internal hosts allowed for webhooks, as `host` or `host:port`, separated by commas."
    )
    otel_endpoint: str = Field(
        "",
        description="Base URL of an OTLP endpoint over HTTP for spans and log events of decisions, routes and jobs,"
        " such as `http://localhost:4318`. Requires the extra `otel`.",
    )
    otel_headers: SecretStr = Field(
        SecretStr(""), description="Headers of OTLP requests, as `name=value,name=value`. Never logged."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Minimum log level.")
    log_format: Literal["text", "json"] = Field(
        "text", description="Log format on standard error. `json`: one object per line."
    )
    route_prompts: bool = Field(
        default=True, description="Suggest a suitable sub-agent for each prompt, through the hooks."
    )
    confidence_threshold: float = Field(
        0.3,
        ge=0,
        le=1,
        validation_alias=_also("confidence_threshold"),
        description="Minimum confidence for choosing an agent. `CONFIDENCE_THRESHOLD` works too.",
    )
    use_llm_routing: bool = Field(
        default=False,
        validation_alias=_also("use_llm_routing"),
        description="Ask the model of `BATON_MODEL_URL` if routing is unsure. Requires"
        " `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE`. `USE_LLM_ROUTING` works too.",
    )
    enable_local_inference_pipeline: bool = Field(
        default=False,
        validation_alias=_also("enable_local_inference_pipeline"),
        description="Allow all features with a model. `ENABLE_LOCAL_INFERENCE_PIPELINE` works too.",
    )
    enable_local_delegation: bool = Field(
        default=False,
        validation_alias=_also("enable_local_delegation"),
        description="Answer suitable prompts by a local model. Requires `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE`."
        " `ENABLE_LOCAL_DELEGATION` works too.",
    )
    enable_local_enrichment: bool = Field(
        default=False,
        validation_alias=_also("enable_local_enrichment"),
        description="Add context to prompts (recent work, code, patterns). Requires"
        " `BATON_ENABLE_LOCAL_INFERENCE_PIPELINE`. `ENABLE_LOCAL_ENRICHMENT` works too.",
    )
    enable_pattern_enforcement: bool = Field(
        default=True,
        validation_alias=_also("enable_pattern_enforcement"),
        description="Check finished edits against the team's patterns. The session's next prompt reports violations."
        " `ENABLE_PATTERN_ENFORCEMENT` works too.",
    )
    external_compliance: bool = Field(
        default=False,
        description="Send patterns without a check to an external evaluator. It reads `compliance-evaluate` and"
        " answers at `/compliance/results`, on Kafka or in a Redis stream (docs/events.md).",
    )
    use_routing_node: bool = Field(
        default=False,
        validation_alias=_also("use_routing_node"),
        description="Ask the node of `BATON_ROUTING_NODE_URL` before the scorer. `USE_ROUTING_NODE` works too.",
    )
    model_url: str = Field(
        "", description="Base URL of an OpenAI-compatible API for routing, such as `http://localhost:8000/v1`."
    )
    model_name: str = Field("", max_length=200, description="Name of the model. Empty: not sent.")
    model_key: SecretStr = Field(SecretStr(""), description="API key, sent as a bearer token. Never logged.")
    llm_routing_timeout_s: float = Field(
        0.1,
        gt=0,
        le=30,
        validation_alias=_also("llm_routing_timeout_s"),
        description="Timeout of the model or node in routing, in seconds. `LLM_ROUTING_TIMEOUT_S` works too.",
    )
    routing_node_url: str = Field("", description="URL of an external routing node.")
    routing_node_key: SecretStr = Field(SecretStr(""), description="Key of the routing node, sent as a bearer token.")
    breaker_slow_ms: float = Field(80, gt=0, description="Duration from which a routing call counts as slow, in ms.")
    local_delegation_endpoints: dict[Intent, ModelEndpoint] = Field(
        {},
        description='Models by intent, as JSON: `{"document": {"url", "model", "key"}}`, also `test` and `research`.'
        " Empty: all three use `BATON_MODEL_URL`.",
    )
    local_delegation_timeout_s: float = Field(
        7, gt=0, le=60, description="Timeout of a local model's answer, in seconds."
    )
    local_delegation_as: Literal["context", "answer"] = Field(
        "context",
        description="`context`: pass the local model's answer to the agent. `answer`: show it to the person instead"
        " of asking the agent, if the client can.",
    )

    @property
    def llm_routing_on(self) -> bool:
        """Return whether routing may ask a model."""
        return self.use_llm_routing and self.enable_local_inference_pipeline and self.model_url != ""

    @property
    def routing_node_on(self) -> bool:
        """Return whether routing asks an external node."""
        return self.use_routing_node and self.routing_node_url != ""

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
    def auth_on(self) -> bool:
        """Return whether every request needs a token."""
        return _needs_tokens(self.auth, self.host, self.database_url)

    @field_validator("otel_endpoint")
    @classmethod
    def _sendable(cls, value: str) -> str:
        if value and find_spec("opentelemetry.sdk") is None:
            raise ValueError("needs the extra `otel`, but it is not installed; install `baton[server,otel]`")
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
                raise ValueError(
                    f"`{full}` for `{short}` is not a valid topic name; use letters, digits, `.`, `_` and `-`"
                )
        return value

    @field_validator("allowed_hosts", "events_without", "webhook_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(v.strip() for v in value.split(",") if v.strip()) if isinstance(value, str) else value
