import { expect, test } from "vitest";
import type { Decision } from "./client";
import { Feed, type Frames, RING } from "./feed";

/** A clock that stands still until it is told to go on. */
class Clock implements Frames {
  private at = 0;
  private timers: { at: number; then: () => void }[] = [];
  now = () => this.at;
  frame = (then: () => void) => then();
  wait = (milliseconds: number, then: () => void) => void this.timers.push({ at: this.at + milliseconds, then });

  pass(milliseconds: number): void {
    this.at += milliseconds;
    const due = this.timers.filter((one) => one.at <= this.at);
    this.timers = this.timers.filter((one) => one.at > this.at);
    for (const { then } of due) then();
  }
}

const decision = (number: number) => ({ id: String(number).padStart(8, "0") }) as Decision;
const decisions = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => decision(from + index));
const ids = (feed: Feed) => feed.snapshot().items.map(({ id }) => Number(id));

function started() {
  const clock = new Clock();
  const feed = new Feed(clock);
  let commits = 0;
  feed.subscribe(() => (commits += 1));
  clock.pass(1_000);
  return { clock, feed, commits: () => commits };
}

test("what comes within 100 ms is shown at once, the newest first, and each decision once", () => {
  const { clock, feed, commits } = started();
  for (let number = 0; number < 50; number += 1) feed.add([decision(number), decision(number)]);
  expect(ids(feed)).toEqual([]);
  clock.pass(0);
  expect(commits()).toBe(1);
  expect(ids(feed)).toEqual(decisions(0, 50).map(({ id }) => Number(id)).reverse());
  feed.add([decision(50)]);
  clock.pass(99);
  expect(commits()).toBe(1);
  clock.pass(1);
  expect(commits()).toBe(2);
  expect(ids(feed)[0]).toBe(50);
});

test("the list ends at the size of the ring, and what fell out of it may come again", () => {
  const { clock, feed } = started();
  feed.add(decisions(0, RING + 10));
  clock.pass(100);
  expect(feed.snapshot().items.length).toBe(RING);
  expect(ids(feed).at(-1)).toBe(10);
  feed.add([decision(0)]);
  clock.pass(100);
  expect(ids(feed)[0]).toBe(0);
});

test("a held list stays and counts what is new, also of what it does not keep", () => {
  const { clock, feed } = started();
  feed.add(decisions(0, 3));
  clock.pass(100);
  feed.hold("paused", true);
  feed.hold("row", true);
  for (let from = 3; from < 3 + 5 * RING; from += 500) {
    feed.add(decisions(from, from + 500));
    clock.pass(100);
  }
  expect(ids(feed)).toEqual([2, 1, 0]);
  expect(feed.snapshot().fresh).toBe(5 * RING);
  feed.hold("paused", false);
  expect(feed.snapshot().held).toBe(true);
  feed.hold("row", false);
  expect(feed.snapshot()).toMatchObject({ held: false, fresh: 0 });
  expect(ids(feed)[0]).toBe(2 + 5 * RING);
  expect(feed.snapshot().items.length).toBe(RING);
});

test("a page of the list is put behind what the stream has brought already", () => {
  const { clock, feed } = started();
  feed.add(decisions(5, 8));
  clock.pass(100);
  feed.fill(decisions(0, 6).reverse());
  expect(ids(feed)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
});

test("nothing is left of who was signed in before", () => {
  const { clock, feed } = started();
  feed.add(decisions(0, 3));
  feed.clear();
  clock.pass(100);
  expect(ids(feed)).toEqual([]);
});
