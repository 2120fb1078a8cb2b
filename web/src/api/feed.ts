import type { Decision } from "./client";

export const RING = 2_000;
const COMMIT_MS = 100;

/** What a list of the newest decisions shows. `fresh` is how many have come since it is held. */
export interface FeedView {
  items: readonly Decision[];
  held: boolean;
  fresh: number;
}

/** When to commit; tests have a clock of their own. */
export interface Frames {
  now(): number;
  frame(then: () => void): void;
  wait(milliseconds: number, then: () => void): void;
}

const OF_BROWSER: Frames = {
  now: () => performance.now(),
  frame: (then) => void requestAnimationFrame(then),
  wait: (milliseconds, then) => void setTimeout(then, milliseconds),
};

/**
 * The newest decisions, collected outside React: rendering per event freezes a page at some hundred events a second.
 * They are committed at most every 100 ms, in an animation frame, so that a hidden tab does nothing.
 */
export class Feed {
  private view: FeedView = { items: [], held: false, fresh: 0 };
  private waiting: Decision[] = [];
  private missed = 0;
  private readonly known = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private readonly holds = new Set<string>();
  private committedAt = 0;
  private scheduled = false;

  constructor(private readonly frames: Frames = OF_BROWSER) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  readonly snapshot = (): FeedView => this.view;

  /** Take decisions as the stream brings them, oldest first; those that are known already are left out. */
  add(items: readonly Decision[]): void {
    for (const one of items) {
      if (this.known.has(one.id)) continue;
      this.known.add(one.id);
      this.waiting.push(one);
    }
    if (this.waiting.length > 2 * RING) {
      const dropped = this.waiting.splice(0, this.waiting.length - RING);
      for (const one of dropped) this.known.delete(one.id);
      this.missed += dropped.length; // still counted as new
    }
    this.schedule();
  }

  /** Take a page of the list, newest first, of what was before the stream began. */
  fill(page: readonly Decision[]): void {
    const new_ = page.filter((one) => !this.known.has(one.id));
    const alarms = new Map(page.filter(({ outcome }) => outcome === "ran_anyway").map((one) => [one.id, one]));
    if (new_.length === 0 && !this.view.items.some(({ id, outcome }) => alarms.has(id) && !outcome)) return;
    for (const one of new_) this.known.add(one.id);
    const items = [...this.view.items.map((one) => alarms.get(one.id) ?? one), ...new_].sort((one, other) => (one.id < other.id ? 1 : -1));
    this.show({ ...this.view, items: this.cut(items) });
  }

  /** Let the list stay as it is, for a reason: it was paused, scrolled, or a row is open. */
  hold(reason: string, held: boolean): void {
    if (held === this.holds.has(reason)) return;
    if (held) this.holds.add(reason);
    else this.holds.delete(reason);
    if (this.holds.size > 0) this.show({ ...this.view, held: true });
    else this.commit();
  }

  /** Forget everything: somebody else is signed in. */
  clear(): void {
    this.waiting = [];
    this.missed = 0;
    this.known.clear();
    this.show({ items: [], held: this.holds.size > 0, fresh: 0 });
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.length === 0) return;
    this.scheduled = true;
    const left = Math.max(0, this.committedAt + COMMIT_MS - this.frames.now());
    this.frames.wait(left, () =>
      this.frames.frame(() => {
        this.scheduled = false;
        this.commit();
      }),
    );
  }

  private commit(): void {
    this.committedAt = this.frames.now();
    if (this.holds.size > 0) {
      this.show({ ...this.view, held: true, fresh: this.waiting.length + this.missed });
      return;
    }
    const items = this.cut([...this.waiting.reverse(), ...this.view.items]);
    this.waiting = [];
    this.missed = 0;
    this.show({ items, held: false, fresh: 0 });
  }

  private cut(items: Decision[]): Decision[] {
    for (const one of items.splice(RING)) this.known.delete(one.id);
    return items;
  }

  private show(view: FeedView): void {
    this.view = view;
    for (const listener of this.listeners) listener();
  }
}
