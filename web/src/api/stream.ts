import { useEffect, useRef, useSyncExternalStore } from "react";
import type { Decision } from "./client";
import { browser, Hub, type Connection, type EventName, type Said, type Told } from "./hub";
import { Notifier } from "./notifier";

/** What the stream carries besides decisions: what changed, and not what it holds. */
interface Change {
  at: string;
  user: string;
  team: string;
  session_id?: string;
}
export interface QuestionEvent extends Change {
  name: "question.opened" | "question.answered" | "question.expired";
  question_id: string;
  job_id: string;
  answer?: "allow" | "deny";
  answered_by?: string;
  reason?: "timeout" | "end";
  runner_user?: string;
}
export interface JobEvent extends Change {
  name: "job.state";
  job_id: string;
  state: string;
  agent?: string;
  provider?: string;
  project?: string;
}
export interface SessionEvent extends Change {
  name: "session.update";
  state: "started" | "waiting" | "idle" | "ended";
}
export interface ModeEvent extends Change {
  name: "mode.changed";
  scope: string;
  scope_id?: string;
  enabled: boolean;
  level?: string;
}
export interface GapEvent {
  name: "gap";
  from: string;
  to: string;
}

/** The topics that a screen may follow, and what its handler is given. `reset`: somebody else is signed in now. */
export interface Topics {
  decisions: { name: "decisions"; items: Decision[] };
  questions: QuestionEvent;
  jobs: JobEvent;
  sessions: SessionEvent;
  modes: ModeEvent;
  gap: GapEvent;
  reset: { name: "reset" };
  open: { name: "open"; question: string };
}
export type Topic = keyof Topics;
type Handler = (event: never) => void;

const TOPIC_OF: Record<EventName, Topic> = {
  decisions: "decisions",
  "question.opened": "questions",
  "question.answered": "questions",
  "question.expired": "questions",
  "job.state": "jobs",
  "session.update": "sessions",
  "mode.changed": "modes",
  gap: "gap",
};
const handlers = new Map<Topic, Set<Handler>>();
const watchers = new Set<() => void>();
let connection: Connection = "connecting";
let say: ((said: Said) => void) | undefined;

function hear(told: Told): void {
  if (told.kind === "state") {
    connection = told.state;
    for (const watcher of watchers) watcher();
  } else if (told.kind === "event") {
    const name = told.name as EventName;
    give(TOPIC_OF[name], { ...(JSON.parse(told.data) as object), name });
  } else if (told.kind === "open") {
    give("open", { name: "open", question: told.question });
  } else {
    give("reset", { name: "reset" });
  }
}

function give(topic: Topic, event: object): void {
  for (const handler of handlers.get(topic) ?? []) handler(event as never);
}

/** Connect once: to the worker that all tabs share, or where there is none, by a stream of this tab while it is seen. */
function connect(): (said: Said) => void {
  const send = typeof SharedWorker === "undefined" ? alone() : shared();
  send({ kind: "hello" });
  window.addEventListener("pagehide", () => send({ kind: "bye" }));
  window.addEventListener("pageshow", ({ persisted }) => persisted && send({ kind: "hello" }));
  return send;
}

function shared(): (said: Said) => void {
  const worker = new SharedWorker(new URL("./stream_worker.ts", import.meta.url), { type: "module", name: "baton-stream" });
  worker.port.onmessage = ({ data }: MessageEvent<Told>) => hear(data);
  return (said) => worker.port.postMessage(said);
}

function alone(): (said: Said) => void {
  const hub = new Hub(browser);
  const notifier = new Notifier();
  notifier.follow(hub);
  document.addEventListener("visibilitychange", () => (document.hidden ? hub.leave(hear) : hub.listen(hear)));
  return (said) => {
    if (said.kind === "hello") hub.listen(hear);
    else if (said.kind === "bye") hub.leave(hear);
    else if (said.kind === "user") notifier.user = said.user;
    else hub.restart();
  };
}

/** Call a handler with each event of a topic until the returned function is called. */
export function subscribe<T extends Topic>(topic: T, handler: (event: Topics[T]) => void): () => void {
  say ??= connect();
  const of = handlers.get(topic) ?? new Set();
  handlers.set(topic, of.add(handler as Handler));
  return () => void of.delete(handler as Handler);
}

/** Call a handler with each event of a topic while the component is shown. It may be another function at each render. */
export function useStream<T extends Topic>(topic: T, handler: (event: Topics[T]) => void): void {
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => subscribe(topic, (event) => latest.current(event)), [topic]);
}

/** How the connection to the stream is. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (changed) => {
      say ??= connect();
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
    () => connection,
  );
}

/** Say who is signed in, for whom alone questions become notifications. */
export function tellUser(user: string): void {
  say?.({ kind: "user", user });
}

/** Begin the stream anew in all tabs, after somebody has signed in or out here. */
export function restartStream(): void {
  say?.({ kind: "restart" });
}
