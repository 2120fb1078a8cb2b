import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { resolved } from "../parts/time";
import { api, body } from "./client";

export const POLL_MS = 2_000;

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => body(api.GET("/me")),
  staleTime: 60_000,
});

export const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: () => body(api.GET("/status")),
  refetchInterval: POLL_MS,
});

/** The filters of the list of decisions, as they stand in the page's URL. */
export interface DecisionFilters {
  effect?: string | undefined;
  decision?: string | undefined;
  user?: string | undefined;
  rule?: string | undefined;
  outcome?: string | undefined;
  client?: string | undefined;
  tool?: string | undefined;
  project?: string | undefined;
  session_id?: string | undefined;
  agent_type?: string | undefined;
  revision?: string | undefined;
  q?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

export const decisionsQuery = (filters: DecisionFilters, live: boolean) =>
  infiniteQueryOptions({
    queryKey: ["decisions", filters],
    queryFn: ({ pageParam }) =>
      body(api.GET("/decisions", { params: { query: { ...(resolved(filters) as object), limit: 100, cursor: pageParam } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (live && (query.state.data?.pages.length ?? 0) < 2 ? POLL_MS : false),
  });

export const decisionQuery = (id: string) =>
  queryOptions({
    queryKey: ["decision", id],
    queryFn: () => body(api.GET("/decisions/{decision_id}", { params: { path: { decision_id: id } } })),
  });

/** The pages of a list whose next page a cursor names, as one list. */
export function pagesQuery<T>(key: readonly unknown[], load: (cursor: string) => Promise<{ items: T[]; next_cursor?: string | null }>) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: keepPreviousData,
  });
}

/** The rules in force for the reader. */
export const policiesQuery = queryOptions({ queryKey: ["policies"], queryFn: () => body(api.GET("/policies")) });
