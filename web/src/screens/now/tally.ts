import type { Decision } from "../../api/client";

export const BANDS = ["allowed", "rewritten", "asked", "refused"] as const;
export type Band = (typeof BANDS)[number];
export type Counts = Record<Band | "would", number>;

const SLICE_MS = 100;
const KEPT_MS = 180_000;
const BAND_OF: Record<string, Band> = { deny: "refused", ask: "asked", rewrite: "rewritten" };

export const none = (): Counts => ({ allowed: 0, rewritten: 0, asked: 0, refused: 0, would: 0 });

/** The band of an effect; what no rule stopped or changed is allowed. */
export const bandOf = (effect: string): Band => BAND_OF[effect] ?? "allowed";

/** Counts what the stream brings, by slices of 100 ms of the last three minutes; what is older, the server's counts hold. */
export class Tally {
  private readonly slices = new Map<number, Counts>();

  add(items: readonly Decision[]): void {
    for (const one of items) {
      const slice = Math.floor(Date.parse(one.at) / SLICE_MS);
      const counts = this.slices.get(slice) ?? none();
      counts[bandOf(one.effect)] += 1;
      if (one.rules.some((rule) => rule.effect === "shadow")) counts.would += 1;
      if (!this.slices.has(slice)) this.slices.set(slice, counts);
    }
    if (this.slices.size > KEPT_MS / SLICE_MS) {
      const newest = Math.max(...this.slices.keys());
      for (const slice of this.slices.keys()) if (slice < newest - KEPT_MS / SLICE_MS) this.slices.delete(slice);
    }
  }

  /** Add up what came since a moment, by the minute in which it was decided. */
  minutesSince(moment: number): Map<number, Counts> {
    const found = new Map<number, Counts>();
    for (const [slice, counts] of this.slices) {
      if (slice * SLICE_MS < moment) continue;
      const minute = Math.floor((slice * SLICE_MS) / 60_000) * 60_000;
      const sum = found.get(minute) ?? none();
      for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
      found.set(minute, sum);
    }
    return found;
  }

  /** Add up what came since a moment. */
  since(moment: number): Counts {
    const sum = none();
    for (const counts of this.minutesSince(moment).values()) {
      for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
    }
    return sum;
  }

  clear(): void {
    this.slices.clear();
  }
}
