import type { JobEvent } from "./follow";

/** Characters of one message that the page keeps; the API has the rest. */
export const LONGEST_TEXT = 200_000;

export interface ToolCall {
  id: string;
  title: string;
  kind: string;
  status: string;
  details: string;
}

export type Block =
  | { kind: "text" | "thought"; text: string; cut: number }
  | { kind: "tools"; calls: ToolCall[] }
  | { kind: "plan"; entries: { content: string; status: string }[] };

export interface Question {
  id: string;
  title: string;
  tool: string;
  input: string;
  deadline: string;
  answer: string;
  by: string;
  reason: string;
}

export type Item =
  | { kind: "bubble"; no: number; text: string }
  | { kind: "delegation"; no: number; call: ToolCall }
  | { kind: "card"; no: number; provider: string; attempt: number; blocks: Block[] }
  | { kind: "note"; no: number; at: string; text: string; tone: "" | "bad" }
  | { kind: "question"; no: number; question: Question };

/** What a job's events tell, in order; `state` and the rest change as they come. */
export interface Transcript {
  items: Item[];
  last: number;
  mode: string;
  run: string;
  state: string;
  changes: number;
}

export const EMPTY: Transcript = { items: [], last: 0, mode: "", run: "", state: "", changes: 0 };

type Fields = Record<string, unknown>;
const text = (value: unknown) => (typeof value === "string" ? value : "");
const fields = (value: unknown): Fields => (value && typeof value === "object" ? (value as Fields) : {});
const shown = (value: unknown) => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** Return the transcript with some more events; what was there before is not changed. */
export function taken(before: Transcript, events: readonly JobEvent[]): Transcript {
  const after = { ...before, items: [...before.items] };
  for (const event of events) {
    if (event.no <= after.last) continue;
    after.last = event.no;
    take(after, event);
  }
  return after;
}

function take(all: Transcript, event: JobEvent): void {
  const { data, no, at } = event;
  switch (event.type) {
    case "session.update":
      if (data.source === "fm_orchestrator") orchestrator(all, no, at, fields(data.update));
      else delegated(all, event, fields(data.update));
      return;
    case "permission.requested":
      all.items.push({ kind: "question", no, question: asked(data) });
      return;
    case "permission.resolved":
      all.items = all.items.map((item) =>
        item.kind === "question" && item.question.id === data.permission
          ? { ...item, question: { ...item.question, answer: text(data.answer), by: text(data.by), reason: text(data.reason) } }
          : item,
      );
      return;
    case "job.state":
      all.state = text(data.state);
      note(all, no, at, ...stateWords(data));
      return;
    case "workspace.diff":
      all.changes = Number(data.changed) || 0;
      note(all, no, at, `${all.changes} changed ${all.changes === 1 ? "file" : "files"}`);
      return;
    case "workspace.action":
      note(all, no, at, actionWords(data), data.state === "refused" || data.state === "failed" ? "bad" : "");
  }
}

function orchestrator(all: Transcript, no: number, at: string, update: Fields): void {
  switch (update.sessionUpdate) {
    case "agent_message_chunk": {
      const last = all.items.at(-1);
      const said = text(fields(update.content).text);
      if (last?.kind === "bubble") all.items[all.items.length - 1] = { ...last, text: (last.text + said).slice(0, LONGEST_TEXT) };
      else all.items.push({ kind: "bubble", no, text: said.slice(0, LONGEST_TEXT) });
      return;
    }
    case "tool_call":
      all.run = text(update.title);
      all.items.push({ kind: "delegation", no, call: toolCall(update) });
      return;
    case "tool_call_update":
      all.items = all.items.map((item) =>
        item.kind === "delegation" && item.call.id === text(update.toolCallId) ? { ...item, call: merged(item.call, update) } : item,
      );
      return;
    case "current_mode_update":
      all.mode = text(update.currentModeId);
      note(all, no, at, all.mode === "default_mode" ? "The orchestrator replied" : `Session mode: ${all.mode}`);
  }
}

function delegated(all: Transcript, event: JobEvent, update: Fields): void {
  const provider = text(event.data.provider) || inferred(all);
  const last = all.items.at(-1);
  const card =
    last?.kind === "card" && last.provider === provider && last.attempt === event.attempt
      ? last
      : ({ kind: "card", no: event.no, provider, attempt: event.attempt, blocks: [] } satisfies Item);
  const blocks = withUpdate(card.blocks, update);
  if (blocks === card.blocks) return;
  const changed = { ...card, blocks };
  if (card === last) all.items[all.items.length - 1] = changed;
  else all.items.push(changed);
}

/** The agent that a message without a provider is of: that of the last `….run` call, else the session's mode. */
function inferred(all: Transcript): string {
  return all.run.endsWith(".run") ? all.run.slice(0, -4) : all.mode;
}

function withUpdate(blocks: Block[], update: Fields): Block[] {
  const last = blocks.at(-1);
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
    case "agent_thought_chunk": {
      const kind = update.sessionUpdate === "agent_message_chunk" ? "text" : "thought";
      const said = text(fields(update.content).text);
      if (!said) return blocks;
      const before = last?.kind === kind ? last : { kind: kind as "text" | "thought", text: "", cut: 0 };
      const whole = before.text + said;
      const grown = { ...before, text: whole.slice(0, LONGEST_TEXT), cut: before.cut + Math.max(0, whole.length - LONGEST_TEXT) };
      return [...(last?.kind === kind ? blocks.slice(0, -1) : blocks), grown];
    }
    case "tool_call": {
      const calls = last?.kind === "tools" ? last.calls : [];
      const others = last?.kind === "tools" ? blocks.slice(0, -1) : blocks;
      return [...others, { kind: "tools", calls: [...calls, toolCall(update)] }];
    }
    case "tool_call_update": {
      const id = text(update.toolCallId);
      return blocks.map((block) =>
        block.kind === "tools" && block.calls.some((call) => call.id === id)
          ? { ...block, calls: block.calls.map((call) => (call.id === id ? merged(call, update) : call)) }
          : block,
      );
    }
    case "plan": {
      const entries = Array.isArray(update.entries) ? update.entries.map(fields) : [];
      const plan = { kind: "plan" as const, entries: entries.map((one) => ({ content: text(one.content), status: text(one.status) })) };
      return [...blocks.filter((block) => block.kind !== "plan"), plan];
    }
    default:
      return blocks;
  }
}

function toolCall(update: Fields): ToolCall {
  const call = { id: text(update.toolCallId), title: "", kind: "", status: "", details: "" };
  return merged(call, update);
}

function merged(call: ToolCall, update: Fields): ToolCall {
  const parts = [call.details, shown(update.rawInput), shown(update.rawOutput), contents(update.content)];
  return {
    ...call,
    title: text(update.title) || call.title || "tool",
    kind: text(update.kind) || call.kind,
    status: text(update.status) || call.status,
    details: parts.filter(Boolean).join("\n").slice(0, LONGEST_TEXT),
  };
}

function contents(given: unknown): string {
  if (!Array.isArray(given)) return "";
  return given
    .map(fields)
    .map((one) => text(fields(one.content).text) || (one.type === "diff" ? `${text(one.path)}\n${text(one.newText)}` : ""))
    .filter(Boolean)
    .join("\n");
}

function asked(data: Fields): Question {
  const request = fields(data.request);
  const input = fields(request.tool_input);
  return {
    id: text(data.permission),
    title: text(request.title),
    tool: text(request.tool_name),
    input: text(input.command) || shown(request.tool_input),
    deadline: text(data.deadline),
    answer: "",
    by: "",
    reason: "",
  };
}

const STATES: Record<string, string> = {
  pending_approval: "Waits for your approval",
  blocked: "Waits for its dependencies",
  queued: "Queued",
  running: "The agent runs",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
  skipped: "Skipped",
};

function stateWords(data: Fields): [string, "" | "bad"] {
  const state = text(data.state);
  const error = fields(data.error);
  if (data.disconnected_since) return ["The runner is unreachable; it may reconnect", "bad"];
  if (data.waiting_for) return [`Waiting for ${text(data.waiting_for)} on the runner's machine; nothing is lost`, "bad"];
  const late = state === "completed" && data.cancel_requested ? " before the cancel" : "";
  const runner = state === "leased" ? `Taken by runner ${text(data.runner)}` : (STATES[state] ?? "");
  return [runner + late + (error.detail ? `: ${text(error.detail)}` : ""), state === "failed" ? "bad" : ""];
}

const VERBS: Record<string, string> = { apply: "Apply", branch: "Branch", discard: "Discard", pr: "Pull request" };

function actionWords(data: Fields): string {
  const verb = VERBS[text(data.verb)] ?? text(data.verb);
  if (data.state === "asked") return `${verb}: asked by ${text(data.by)}`;
  return `${verb}: ${text(data.state)}${data.detail ? `, ${text(data.detail)}` : ""}`;
}

function note(all: Transcript, no: number, at: string, words: string, tone: "" | "bad" = ""): void {
  if (words) all.items.push({ kind: "note", no, at, text: words, tone });
}
