const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment as a clock shows it, for rows of today. */
export const clock = (at: string) => CLOCK.format(new Date(at));

/** A moment with its day. */
export const moment = (at: string) => WHOLE.format(new Date(at));

/** The beginning of today where the reader is, as the API takes it. */
export function today(now = new Date()): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
}
