import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, body } from "../../api/client";
import { useConnection } from "../../api/stream";
import { tally } from "./live";
import { bandOf, none, type Counts } from "./tally";

const MINUTE_MS = 60_000;
/** Minutes that the chart shows. */
export const SHOWN_MINUTES = 60;

/** Today's numbers as the server has them, counted up to `until`. What came since is in the tally. */
const todayQuery = (day: string) =>
  queryOptions({
    queryKey: ["today", day],
    queryFn: async () => {
      const count = async (filter: object) => {
        const query = { by: "hour" as const, since: day, ...filter };
        const found = await body(api.GET("/decisions/counts", { params: { query } }));
        const sum = found.items.reduce((all, { counts }) => all + Object.values(counts).reduce((one, other) => one + other, 0), 0);
        return { sum, until: Date.parse(found.until) };
      };
      const [refused, would, ranAnyway, ignored] = await Promise.all([
        count({ effect: "deny" }),
        count({ effect: "shadow" }),
        count({ outcome: "ran_anyway" }),
        count({ outcome: "rewrite_ignored" }),
      ]);
      return { refused, would, ranAnyway: ranAnyway.sum, ignored: ignored.sum };
    },
    refetchInterval: MINUTE_MS / 2,
  });

export const alarmsQuery = queryOptions({
  queryKey: ["status", "alarms"],
  queryFn: async () => {
    const { unchecked, unreached, freezes } = await body(api.GET("/status"));
    return { unchecked, unreached, freezes };
  },
  refetchInterval: MINUTE_MS / 2,
});

const liveSessionsQuery = queryOptions({
  queryKey: ["sessions", "live count"],
  queryFn: async () => {
    const found = await body(api.GET("/sessions", { params: { query: { live: true, limit: 200 } } }));
    return { count: found.items.length, more: Boolean(found.next_cursor) };
  },
  refetchInterval: 15_000,
});

export function useLiveSessions() {
  return useQuery(liveSessionsQuery);
}

/** Today's numbers, with what the stream has brought since they were counted. `tick` changes when they should be read again. */
export function useToday(day: string, tick: number) {
  const counted = useQuery(todayQuery(day));
  const base = counted.data;
  void tick;
  return {
    error: counted.error,
    refused: base && base.refused.sum + tally.since(base.refused.until).refused,
    would: base && base.would.sum + tally.since(base.would.until).would,
    ranAnyway: base?.ranAnyway,
    ignored: base?.ignored,
  };
}

interface Minutes {
  until: number;
  counts: Map<number, Counts>;
}

/** The calls of the last hour by minute. Only the first request reads an hour; the others read what may have changed. */
const minutesQuery = queryOptions({
  queryKey: ["minutes"],
  queryFn: async ({ client }): Promise<Minutes> => {
    const before = client.getQueryData<Minutes>(["minutes"]);
    const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const oldest = now - SHOWN_MINUTES * MINUTE_MS;
    const since = before ? Math.max(oldest, Math.floor(before.until / MINUTE_MS) * MINUTE_MS - MINUTE_MS) : oldest;
    const query = { by: "minute" as const, group: "effect" as const, since: new Date(since).toISOString() };
    const found = await body(api.GET("/decisions/counts", { params: { query } }));
    const counts = new Map([...(before?.counts ?? [])].filter(([minute]) => minute >= oldest && minute < since));
    for (const { at, counts: byEffect } of found.items) {
      const sum = none();
      for (const [effect, count] of Object.entries(byEffect)) sum[bandOf(effect)] += count;
      counts.set(Date.parse(at), sum);
    }
    return { until: Date.parse(found.until), counts };
  },
  structuralSharing: false,
  refetchInterval: MINUTE_MS,
});

/** The calls of each of the last 60 minutes, the oldest first. */
export function useMinutes(tick: number) {
  const found = useQuery(minutesQuery);
  void tick;
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const since = found.data ? tally.minutesSince(found.data.until) : new Map<number, Counts>();
  const minutes = Array.from({ length: SHOWN_MINUTES }, (_, index) => {
    const at = now - (SHOWN_MINUTES - 1 - index) * MINUTE_MS;
    const sum = { ...(found.data?.counts.get(at) ?? none()) };
    const more = since.get(at);
    if (more) for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += more[name];
    return { at, ...sum };
  });
  return { error: found.error, minutes, again: () => void found.refetch() };
}

/** A number that grows once a second while the page is seen and the stream is live. */
export function useTick(): number {
  const [tick, setTick] = useState(0);
  const connection = useConnection();
  useEffect(() => {
    if (connection !== "live") return;
    const timer = setInterval(() => !document.hidden && setTick((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, [connection]);
  return tick;
}

interface FirstSteps {
  hooked: boolean;
  /** Clients whose hooks are installed and were never heard of. */
  unheard: { user: string; client: string }[];
  called: boolean;
  refused: boolean;
  ownRule: boolean;
}

const isDone = (steps: FirstSteps | undefined) => Boolean(steps && steps.hooked && steps.called && steps.refused && steps.ownRule);

/** What the first steps of a new server are read from. */
export const firstStepsQuery = queryOptions({
  queryKey: ["first steps"],
  queryFn: async (): Promise<FirstSteps> => {
    const [status, layers] = await Promise.all([body(api.GET("/status")), body(api.GET("/policies/layers"))]);
    const counts = status.decisions ?? {};
    return {
      hooked: status.clients.length > 0,
      unheard: status.clients.filter((one) => !one.last_seen),
      called: Object.values(counts).some((count) => count > 0),
      refused: (counts.deny ?? 0) > 0,
      ownRule: layers.length > 0,
    };
  },
  refetchInterval: (query) => (isDone(query.state.data) ? false : 5_000),
});
