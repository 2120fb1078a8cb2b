const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment as a clock shows it, for rows of today. */
export const clock = (at: string) => CLOCK.format(new Date(at));

const SHORT = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** A moment in a list: the clock for one of today, with the day and without seconds for another. */
export const when = (at: string, now = new Date()) => (at >= today(now) ? clock(at) : SHORT.format(new Date(at)));

/** A moment with its day. */
export const moment = (at: string) => WHOLE.format(new Date(at));

/** The beginning of today where the reader is, as the API takes it. */
export function today(now = new Date()): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** How far a moment is from now: `5 minutes ago`, `in 2 hours`. */
export function relative(at: string, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1_000;
  const [unit, length] = UNITS.find(([, one]) => Math.abs(seconds) >= one) ?? (["second", 1] as const);
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}

/** What a `datetime-local` field holds, as the API takes it; null for an empty one. */
export const fromField = (value: string): string | null => (value ? new Date(value).toISOString() : null);

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** A day as the API counts it (UTC). */
export const day = (at: string) => DAY.format(new Date(at));

/** An hour, where the reader is. */
export const hour = (at: string) => SHORT.format(new Date(at));
