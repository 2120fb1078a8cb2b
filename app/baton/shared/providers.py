"""Agents known by name: their commands for the Agent Client Protocol, and their installation.

Other names need a command in `runner.yaml`. The commands are those of the ACP registry
(https://github.com/agentclientprotocol/registry, one `<id>/agent.json` each, read in November 2026), with the program
instead of `npx <package>`, so that starting a job downloads nothing.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

PROVIDERS: tuple[str, ...] = ("codex", "claude_code", "opencode", "gemini")  # for everybody; the first is the default
_NPM = "npm install -g "
_NAME = re.compile(r"[a-z0-9][a-z0-9_.]{0,63}")
_SAME = {"codex_acp": "codex", "claude_acp": "claude_code"}  # ids of the registry with another name here


class AcpAgent(NamedTuple):
    """An agent's command, and the command or page for its installation."""

    command: tuple[str, ...]
    install: str
    title: str = ""
    variables: tuple[str, ...] = ()  # globs of its own credentials and settings
    system: str = ""  # its name in OpenTelemetry's convention


ACP_AGENTS: dict[str, AcpAgent] = {
    "codex": AcpAgent(("codex-acp",), _NPM + "@agentclientprotocol/codex-acp", "Codex", ("OPENAI_*", "CODEX_*"), "openai"),
    "claude_code": AcpAgent(
        ("claude-agent-acp",), _NPM + "@agentclientprotocol/claude-agent-acp", "Claude Code",
        ("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"), "anthropic",
    ),
    "opencode": AcpAgent(("opencode", "acp"), "https://opencode.ai", "OpenCode", ("OPENCODE_*",)),
    "gemini": AcpAgent(
        ("gemini", "--acp"), _NPM + "@google/gemini-cli", "Gemini",
        ("GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*"), "gcp.gemini",
    ),
    "amp_acp": AcpAgent(("amp-acp",), "https://github.com/tao12345666333/amp-acp"),
    "cline": AcpAgent(("cline", "--acp"), _NPM + "cline"),
    "cursor": AcpAgent(("cursor-agent", "acp"), "https://cursor.com/docs/cli/acp"),
    "github_copilot_cli": AcpAgent(("copilot", "--acp"), _NPM + "@github/copilot"),
    "goose": AcpAgent(("goose", "acp"), "https://block.github.io/goose"),
    "junie": AcpAgent(("junie", "--acp=true"), "https://junie.jetbrains.com"),
    "kilo": AcpAgent(("kilo", "acp"), _NPM + "@kilocode/cli"),
    "kimi": AcpAgent(("kimi", "acp"), "https://github.com/MoonshotAI/kimi-cli"),
    "pi_acp": AcpAgent(("pi-acp",), _NPM + "pi-acp"),
    "qwen_code": AcpAgent(("qwen", "--acp"), _NPM + "@qwen-code/qwen-code"),
}  # fmt: skip
"""The known agents by their names in jobs: the registry's ids with `_` for `-`."""


def provider_name(text: str) -> str | None:
    """Normalize a provider's name: fold case, `_` for `-` and blanks. Return None if it is invalid."""
    name = "_".join(text.casefold().replace("-", " ").replace("_", " ").split())
    return _SAME.get(name, name) if _NAME.fullmatch(name) else None


def known_agent(provider: str) -> AcpAgent:
    """Return a provider's known agent. Another provider gets an empty one."""
    return ACP_AGENTS.get(provider, AcpAgent((), ""))


def near_provider(text: str, served: Iterable[str] = ()) -> str:
    """Return the provider with the most similar name, or ""."""
    names = dict.fromkeys([*served, *ACP_AGENTS])
    return next(iter(get_close_matches(text.lower().replace(" ", "_").replace("-", "_"), names, n=1)), "")
