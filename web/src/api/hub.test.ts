import { beforeEach, expect, test, vi } from "vitest";
import { Hub, type Source, type Told, type World } from "./hub";
import { Notifier } from "./notifier";

/** A stream that a test speaks on. */
class Stream implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  private readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();
  constructor(readonly url: string) {}
  addEventListener = (name: string, listener: (event: MessageEvent<string>) => void) => void this.listeners.set(name, listener);
  close = () => void (this.closed = true);

  say(name: string, data: object, place: string): void {
    this.listeners.get(name)?.({ data: JSON.stringify(data), lastEventId: place } as MessageEvent<string>);
  }

  live(): void {
    this.onopen?.(new Event("open"));
  }

  /** The server answered something else than a stream. */
  fail(): void {
    this.readyState = 2;
    this.onerror?.(new Event("error"));
  }
}

function started() {
  const streams: Stream[] = [];
  const waits: number[] = [];
  const world: World & { signedIn: boolean } = {
    signedIn: true,
    open: (url: string) => streams[streams.push(new Stream(url)) - 1] as Stream,
    isSignedIn: async () => world.signedIn,
    wait: (milliseconds: number, then: () => void) => {
      waits.push(milliseconds);
      then();
    },
  };
  return { hub: new Hub(world), world, streams, waits };
}

const listening = (hub: Hub) => {
  const told: Told[] = [];
  const listener = (one: Told) => void told.push(one);
  hub.listen(listener);
  return { told, listener };
};
const settled = () => new Promise((then) => setTimeout(then));

test("all tabs share one stream, which is closed with the last of them", () => {
  const { hub, streams } = started();
  const tabs = [listening(hub), listening(hub), listening(hub)];
  expect(streams.length).toBe(1);
  streams[0]?.live();
  streams[0]?.say("job.state", { job_id: "1" }, "5-0");
  for (const { told } of tabs) expect(told.at(-1)).toEqual({ kind: "event", name: "job.state", data: '{"job_id":"1"}' });
  for (const { listener } of tabs.slice(1)) hub.leave(listener);
  expect(streams[0]?.closed).toBe(false);
  hub.leave(tabs[0]!.listener);
  expect(streams[0]?.closed).toBe(true);
});

test("a later stream goes on where the one before has ended", () => {
  const { hub, streams } = started();
  const { listener } = listening(hub);
  expect(streams[0]?.url).toBe("/stream");
  streams[0]?.say("decisions", { items: [] }, "17-3");
  hub.leave(listener);
  listening(hub);
  expect(streams[1]?.url).toBe("/stream?cursor=17-3");
});

test("a server that answers no stream is asked again, ever later, until it does", async () => {
  const { hub, streams, waits } = started();
  const { told } = listening(hub);
  for (let time = 0; time < 6; time += 1) {
    streams.at(-1)?.fail();
    await settled();
  }
  expect(told.at(-1)).toEqual({ kind: "state", state: "reconnecting" });
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  streams.at(-1)?.live();
  streams.at(-1)?.fail();
  await settled();
  expect(waits.at(-1)).toBe(1_000);
});

test("who is signed out is told so, and nothing is asked again until somebody signs in", async () => {
  const { hub, world, streams } = started();
  const { told } = listening(hub);
  streams[0]?.say("decisions", { items: [] }, "17-3");
  world.signedIn = false;
  streams[0]?.fail();
  await settled();
  expect(told.slice(-2)).toEqual([{ kind: "state", state: "signed-out" }, { kind: "reset" }]);
  expect(streams.length).toBe(1);
  hub.restart();
  expect(streams[1]?.url, "not where somebody else was").toBe("/stream");
});

const shown: string[] = [];
beforeEach(() => {
  shown.length = 0;
  vi.stubGlobal(
    "Notification",
    class {
      static permission = "granted";
      onclick: (() => void) | undefined;
      constructor(title: string, { tag }: { tag: string }) {
        shown.push(`${title} #${tag}`);
        setTimeout(() => this.onclick?.());
      }
      close() {}
    },
  );
});

test("each question is notified once, to those who may answer it, and a click opens it in the last tab", async () => {
  const { hub, streams } = started();
  const notifier = new Notifier(async (question) => !["q2", "q4"].includes(question));
  notifier.follow(hub);
  notifier.user = "dora";
  const [first, last] = [listening(hub), listening(hub)];
  const asked = { question_id: "q1", agent: "codex", tool_name: "Bash" };
  streams[0]?.say("question.opened", asked, "1-0");
  streams[0]?.say("question.opened", asked, "1-0"); // as after a reconnect
  streams[0]?.say("question.opened", { ...asked, question_id: "q2" }, "2-0");
  streams[0]?.say("question.answered", asked, "3-0");
  streams[0]?.say("question.opened", { ...asked, question_id: "q3" }, "4-0");
  streams[0]?.say("question.opened", { ...asked, question_id: "exc_1" }, "4-1");
  streams[0]?.say("question.opened", { ...asked, question_id: "q4" }, "5-0");
  await settled();
  expect(shown).toEqual(["Codex asks: Bash #q1", "Codex asks: Bash #q3"]);
  await settled();
  await settled();
  expect(last.told).toContainEqual({ kind: "open", question: "q1" });
  expect(first.told).not.toContainEqual({ kind: "open", question: "q1" });
});

test("the questions that are remembered are bounded", async () => {
  const { hub, streams } = started();
  const notifier = new Notifier(async () => true);
  notifier.follow(hub);
  notifier.user = "dora";
  listening(hub);
  for (let number = 0; number < 2_000; number += 1) streams[0]?.say("question.opened", { question_id: `q${number}` }, "1-0");
  await settled();
  expect(shown.length).toBe(2_000);
  streams[0]?.say("question.opened", { question_id: "q1999" }, "1-0");
  await settled();
  expect(shown.length).toBe(2_000);
});
