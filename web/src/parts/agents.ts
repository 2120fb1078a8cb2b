const NAMES: Record<string, string> = { codex: "Codex", claude_code: "Claude Code", opencode: "OpenCode", gemini: "Gemini" };

/** An agent's name, as people know it. */
export const agentName = (provider: string) => NAMES[provider] ?? provider;
