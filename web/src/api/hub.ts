/**
 * The one connection to `GET /stream` of a browser, and who listens to it. It runs in the shared worker, or in a page where there is none.
 */

/** What a page is told: an event of the stream, how the connection is, that somebody else is signed in now, or to show a question. */
export type Told =
  | { kind: "event"; name: string; data: string }
  | { kind: "state"; state: Connection }
  | { kind: "reset" }
  | { kind: "open"; question: string };

/** What a page says: that it listens; that it leaves; who is signed in; that somebody has signed in or out. */
export type Said = { kind: "hello" } | { kind: "bye" } | { kind: "user"; user: string } | { kind: "restart" };

export type Connection = "connecting" | "live" | "reconnecting" | "signed-out";

export const EVENTS = [
  "decisions",
  "question.opened",
  "question.answered",
  "question.expired",
  "job.state",
  "session.update",
  "mode.changed",
  "gap",
] as const;
export type EventName = (typeof EVENTS)[number];

/** As much of an `EventSource` as is needed; tests have one of their own. */
export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

export interface World {
  open(url: string): Source;
  /** Whether the server still knows the browser's session. */
  isSignedIn(): Promise<boolean>;
  wait(milliseconds: number, then: () => void): void;
}

const CLOSED = 2;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

export class Hub {
  private readonly listeners = new Set<(told: Told) => void>();
  private readonly observers: ((told: Told) => void)[] = [];
  private source: Source | undefined;
  private state: Connection = "connecting";
  private place = "";
  private pauseMs = FIRST_PAUSE_MS;

  constructor(private readonly world: World) {}

  /** Add a listener, who is told at once how the connection is; the first one opens it. */
  listen(listener: (told: Told) => void): void {
    this.listeners.add(listener);
    listener({ kind: "state", state: this.state });
    if (!this.source && this.state !== "signed-out") this.open();
  }

  /** Add one who hears what listeners are told, and for whom alone no connection is opened. */
  observe(observer: (told: Told) => void): void {
    this.observers.push(observer);
  }

  /** Tell the listener who came last. */
  tellOne(told: Told): void {
    [...this.listeners].at(-1)?.(told);
  }

  /** Forget a listener; without any the connection is closed. */
  leave(listener: (told: Told) => void): void {
    this.listeners.delete(listener);
    if (this.listeners.size === 0) this.close();
  }

  /** Begin anew for whoever is signed in now: nothing of the one before may be shown on. */
  restart(): void {
    this.close();
    this.place = "";
    this.tell({ kind: "reset" });
    if (this.listeners.size > 0) this.open();
  }

  /** Close the connection; the next one goes on where it was. */
  close(): void {
    this.source?.close();
    this.source = undefined;
    this.state = "connecting";
  }

  private open(): void {
    const source = this.world.open(`/stream${this.place ? `?cursor=${encodeURIComponent(this.place)}` : ""}`);
    this.source = source;
    source.onopen = () => {
      this.pauseMs = FIRST_PAUSE_MS;
      this.become("live");
    };
    source.onerror = () => {
      if (this.source !== source) return;
      this.become("reconnecting");
      // The browser itself tries again after a lost connection. After an answer that is no stream it gives up.
      if (source.readyState === CLOSED) void this.tryAgain();
    };
    for (const name of EVENTS) {
      source.addEventListener(name, (event) => {
        this.place = event.lastEventId || this.place;
        this.tell({ kind: "event", name, data: event.data });
      });
    }
  }

  private async tryAgain(): Promise<void> {
    this.source = undefined;
    const signedIn = await this.world.isSignedIn();
    if (this.source || this.listeners.size === 0) return; // somebody has signed in, or nobody listens any more
    if (!signedIn) {
      this.become("signed-out");
      this.tell({ kind: "reset" });
      return;
    }
    this.world.wait(this.pauseMs, () => {
      if (!this.source && this.listeners.size > 0) this.open();
    });
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
  }

  private become(state: Connection): void {
    this.state = state;
    this.tell({ kind: "state", state });
  }

  private tell(told: Told): void {
    for (const listener of this.observers) listener(told);
    for (const listener of this.listeners) listener(told);
  }
}

/** The world of a browser, of a worker or of a page. */
export const browser: World = {
  open: (url) => new EventSource(url),
  wait: (milliseconds, then) => void setTimeout(then, milliseconds),
  async isSignedIn() {
    try {
      return (await fetch("/me")).status !== 401;
    } catch {
      return true; // the server is away, which says nothing about the session
    }
  },
};
