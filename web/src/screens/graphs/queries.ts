import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { POLL_MS } from "../../api/queries";
import { resolved } from "../../parts/time";
import type { GraphFilters } from "./search";

export type Graph = Schemas["GraphModel"];
export type Task = Schemas["TaskModel"];
export type Compliance = Schemas["ComplianceModel"];

const isOver = (state: string | undefined) => state === "completed" || state === "failed";

export const graphsQuery = (filters: GraphFilters) =>
  infiniteQueryOptions({
    queryKey: ["graphs", filters],
    queryFn: ({ pageParam }) => body(api.GET("/graphs", { params: { query: { ...(resolved(filters) as object), limit: 50, cursor: pageParam } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) < 2 ? 2 * POLL_MS : false),
  });

export const graphQuery = (id: string) =>
  queryOptions({
    queryKey: ["graph", id],
    queryFn: () => body(api.GET("/graphs/{graph_id}", { params: { path: { graph_id: id } } })),
    refetchInterval: (query) => (isOver(query.state.data?.state) ? false : POLL_MS),
  });

export const complianceQuery = (id: string) =>
  queryOptions({
    queryKey: ["graph", id, "compliance"],
    queryFn: () => body(api.GET("/graphs/{graph_id}/compliance", { params: { path: { graph_id: id } } })),
    refetchInterval: (query) => (isOver(query.state.data?.state) ? false : 2 * POLL_MS),
  });
