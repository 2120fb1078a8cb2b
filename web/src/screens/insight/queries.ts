import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body } from "../../api/client";
import type { InsightSearch } from "./search";

type By = NonNullable<InsightSearch["by"]>;
type Period = NonNullable<InsightSearch["since"]>;

const HOURS: Record<Period, number> = { "24h": 24, "7d": 168, "30d": 720, "90d": 2_160 };
const REFRESH_MS = 60_000;

/** When a period began, to the minute, so that one answer serves all who ask within it. */
export function start(period: Period): string {
  const minute = Math.floor(Date.now() / REFRESH_MS) * REFRESH_MS;
  return new Date(minute - HOURS[period] * 3_600_000).toISOString();
}

/** Hours for up to a week, days for longer. */
export const bucket = (period: Period) => (HOURS[period] <= 168 ? "hour" : "day");

const usual = { placeholderData: keepPreviousData, refetchInterval: REFRESH_MS } as const;

export const shareQuery = (period: Period) =>
  queryOptions({
    ...usual,
    queryKey: ["analytics", "delegation", period],
    queryFn: () => body(api.GET("/analytics/delegation", { params: { query: { by: "day", since: start(period), limit: 200 } } })),
  });

export const costQuery = (period: Period, by: By) =>
  queryOptions({
    ...usual,
    queryKey: ["analytics", "cost", period, by],
    queryFn: () => body(api.GET("/analytics/cost", { params: { query: { by, since: start(period) } } })),
  });

export const blockedQuery = (period: Period) =>
  queryOptions({
    ...usual,
    queryKey: ["decisions", "counts", "blocked", period],
    queryFn: () => body(api.GET("/decisions/counts", { params: { query: { by: "day", group: "rule", decision: "block", since: start(period) } } })),
  });

export const latencyQuery = (period: Period) =>
  queryOptions({
    ...usual,
    queryKey: ["analytics", "latency", period],
    queryFn: () => body(api.GET("/analytics/latency", { params: { query: { by: bucket(period), since: start(period) } } })),
  });

export const rulesQuery = (period: Period) =>
  queryOptions({
    ...usual,
    queryKey: ["policies", "rules", period],
    queryFn: () => body(api.GET("/policies/rules", { params: { query: { since: start(period) } } })),
  });

/** How many calls ran although they were refused. */
export const anywayQuery = (period: Period) =>
  queryOptions({
    ...usual,
    queryKey: ["decisions", "counts", "ran_anyway", period],
    queryFn: async () => {
      const found = await body(api.GET("/decisions/counts", { params: { query: { by: "day", outcome: "ran_anyway", since: start(period) } } }));
      return found.items.reduce((sum, { counts }) => sum + Object.values(counts).reduce((one, other) => one + other, 0), 0);
    },
  });
