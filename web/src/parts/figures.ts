const USD = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 4 });
const COUNT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** An amount of money. */
export const usd = (amount: number) => USD.format(amount);

/** A number that may be large, in few characters. */
export const count = (number: number) => COUNT.format(number);

/** A number of things in words, as `1 call` or `1,200 calls`. */
export const many = (number: number, thing: string) => `${number.toLocaleString()} ${thing}${number === 1 ? "" : "s"}`;

/** A duration between two moments, as `1 h 02 min`, `3 min 05 s` or `12 s`. */
export function duration(from: string, to: string | undefined): string {
  const seconds = Math.max(0, Math.round(((to ? new Date(to).getTime() : Date.now()) - new Date(from).getTime()) / 1_000));
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  return hours ? `${hours} h ${two(minutes)} min` : minutes ? `${minutes} min ${two(rest)} s` : `${rest} s`;
}
