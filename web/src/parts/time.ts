const two = (number: number) => String(number).padStart(2, "0");

/** A moment as a clock shows it, for rows of today: `09:21:08`. */
export function clock(at: string): string {
  const local = new Date(at);
  return [local.getHours(), local.getMinutes(), local.getSeconds()].map(two).join(":");
}

/** A moment with its day, where the reader is: `2026-11-26 09:21:08`. */
export function moment(at: string): string {
  const local = new Date(at);
  return `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())} ${clock(at)}`;
}

/** An hour with its day, without seconds. */
export const hour = (at: string) => moment(at).slice(0, 16);

/** A moment in a list: the clock for one of today, with the day and without seconds for another. */
export const when = (at: string, now = new Date()) => (at >= today(now) ? clock(at) : hour(at));

/** A day as the API counts it (UTC). */
export const day = (at: string) => at.slice(0, 10);

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

/** A moment of the API as a `datetime-local` field takes it: in the reader's own time, to the minute. */
export const asField = (at: string | undefined) => (at && !Number.isNaN(Date.parse(at)) ? hour(at).replace(" ", "T") : "");

const MINUTE_MS = 60_000;
const HOURS = { "1h": 1, "24h": 24, "7d": 168, "30d": 720, "90d": 2_160 } as const;
/** The spans that every time range offers, by their names in the page's address. */
export const SPANS = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days", "90d": "Last 90 days" } as const;

/** A time range as the page's address holds it: `since` is a span such as `7d`, or a moment. */
export interface Range {
  since?: string | undefined;
  until?: string | undefined;
}

/** The beginning of a range for the API. A span is counted to the minute, so that one answer serves all who ask within it. */
export const start = (since: string | undefined) =>
  since && since in HOURS ? new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - HOURS[since as keyof typeof HOURS] * 60 * MINUTE_MS).toISOString() : since;

/** Filters with their range as the API takes it. */
export const resolved = <T extends Range>(filters: T): T => (filters.since ? { ...filters, since: start(filters.since) } : filters);

/** The hours of a range. */
export const hoursOf = ({ since, until }: Range) => ((until ? Date.parse(until) : Date.now()) - Date.parse(start(since) ?? "0")) / (60 * MINUTE_MS);

/** A minute, an hour or a day from its beginning on. */
export const during = (at: string, seconds: number): Range => ({ since: new Date(at).toISOString(), until: new Date(Date.parse(at) + 1_000 * seconds).toISOString() });
