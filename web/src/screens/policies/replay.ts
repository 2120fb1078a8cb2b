import type { Schemas } from "../../api/client";
import { ApiError } from "../../api/client";

export type Line = Schemas["ReplayLine"];

/** Run a replay and hand over its lines as they come; aborting the signal closes the connection, which cancels it. */
export async function replay(asked: Schemas["ReplayBody"], signal: AbortSignal, line: (one: Line) => void): Promise<void> {
  const answer = await fetch("/policies/replay", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(asked),
    signal,
  });
  if (!answer.ok || !answer.body) {
    const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
    throw new ApiError(answer.status, problem.detail ?? `The server answered ${answer.status}.`);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) if (text) line(JSON.parse(text) as Line);
    if (done) return;
  }
}
