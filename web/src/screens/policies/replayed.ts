import type { Schemas } from "../../api/client";
import type { Files } from "./queries";

interface Replayed {
  at: string;
  summary: Schemas["Summary"];
}

const results = new Map<string, Replayed>();

/** Keep the result of a replay for these files, to be shown before they are activated. */
export function remember(files: Files, summary: Schemas["Summary"]): void {
  results.set(JSON.stringify(files), { at: new Date().toISOString(), summary });
}

/** The last replay of exactly these files in this tab. */
export const replayedOf = (files: Files) => results.get(JSON.stringify(files));
