import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";

export type Route = Schemas["RouteAnswer"];
export type Pattern = Schemas["PatternModel"];
export type Breaker = Schemas["BreakerModel"];

const REFRESH_MS = 60_000;
const BREAKERS_MS = 5_000;
const MONTH_MS = 30 * 86_400_000;

export const rostersQuery = queryOptions({
  queryKey: ["routing", "rosters"],
  queryFn: () => body(api.GET("/routing/rosters", {})),
});

export const rosterQuery = (name: string) =>
  queryOptions({
    queryKey: ["routing", "roster", name],
    queryFn: () => body(api.GET("/routing/rosters/{name}", { params: { path: { name } } })),
  });

/** Which model each agent of the policies' agents tables gets. */
export const tableQuery = (table: string) =>
  queryOptions({
    queryKey: ["policies", "agents", table],
    queryFn: () => body(api.GET("/policies/agents/{table}", { params: { path: { table } } })),
  });

export const agentQuery = (name: string, agent: string) =>
  queryOptions({
    queryKey: ["routing", "agent", name, agent],
    queryFn: () => body(api.GET("/routing/rosters/{name}/agents/{agent}", { params: { path: { name, agent } } })),
  });

/** The start of the last 30 days, to the hour. */
export const monthAgo = () => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - MONTH_MS).toISOString();

export const qualityQuery = queryOptions({
  queryKey: ["analytics", "routing"],
  queryFn: () => body(api.GET("/analytics/routing", { params: { query: { since: monthAgo() } } })),
  placeholderData: keepPreviousData,
  refetchInterval: REFRESH_MS,
});

export const fitsQuery = queryOptions({
  queryKey: ["routing", "fits"],
  queryFn: () => body(api.GET("/routing/fits", {})),
});

export const patternsQuery = (status: Pattern["status"]) =>
  infiniteQueryOptions({
    queryKey: ["patterns", status],
    queryFn: ({ pageParam }) => body(api.GET("/patterns", { params: { query: { status, limit: 50, cursor: pageParam } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
  });

export const breakersQuery = queryOptions({
  queryKey: ["breakers"],
  queryFn: () => body(api.GET("/breakers", {})),
  refetchInterval: BREAKERS_MS,
});
