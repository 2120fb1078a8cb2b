import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { type Range, resolved } from "../../parts/time";

export type Route = Schemas["RouteAnswer"];
export type Pattern = Schemas["PatternModel"];
export type Breaker = Schemas["BreakerModel"];

const REFRESH_MS = 60_000;
const BREAKERS_MS = 5_000;

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

export const QUALITY = ["analytics", "routing"] as const;

export const qualityQuery = (range: Range) =>
  queryOptions({
    queryKey: [...QUALITY, range],
    queryFn: () => body(api.GET("/analytics/routing", { params: { query: resolved(range) as object } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
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
