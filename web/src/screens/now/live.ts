import { Feed } from "../../api/feed";
import { subscribe } from "../../api/stream";
import { Tally } from "./tally";

/** The newest decisions and their counts, collected from the first time that Now is shown, on whatever screen one is then. */
export const feed = new Feed();
export const tally = new Tally();

let collecting = false;

/** Begin to collect, once. */
export function collect(): void {
  if (collecting) return;
  collecting = true;
  subscribe("decisions", ({ items }) => {
    feed.add(items);
    tally.add(items);
  });
  subscribe("reset", () => {
    feed.clear();
    tally.clear();
  });
}
