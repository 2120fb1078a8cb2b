import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { POLL_MS } from "../../api/queries";
import { resolved } from "../../parts/time";
import type { SessionFilters } from "./search";

export type Session = Schemas["SessionModel"];
export type SessionAgent = Schemas["SessionAgentModel"];
export type TimelineItem = Schemas["TimelineItemModel"];

export const sessionsQuery = (filters: SessionFilters) =>
  infiniteQueryOptions({
    queryKey: ["sessions", filters],
    queryFn: ({ pageParam }) => body(api.GET("/sessions", { params: { query: { ...(resolved(filters) as object), limit: 30, cursor: pageParam } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) < 2 ? 3 * POLL_MS : false),
  });

export const sessionQuery = (id: string, user: string) =>
  queryOptions({
    queryKey: ["session", id, user],
    queryFn: () => body(api.GET("/sessions/{session_id}", { params: { path: { session_id: id }, query: { user } } })),
    refetchInterval: 3 * POLL_MS,
  });

/** A session's timeline, oldest first; while its end is shown, what comes is fetched behind it. */
export const timelineQuery = (id: string, user: string, kind: string) =>
  infiniteQueryOptions({
    queryKey: ["session", id, user, "timeline", kind],
    queryFn: ({ pageParam }) => {
      const query = { user, limit: 100, cursor: pageParam, ...(kind ? { kind: [kind as TimelineItem["kind"]] } : {}) };
      return body(api.GET("/sessions/{session_id}/timeline", { params: { path: { session_id: id }, query } }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) < 2 ? 2 * POLL_MS : false),
  });

export const sessionJobsQuery = (id: string, user: string) =>
  queryOptions({
    queryKey: ["jobs", "session", id, user],
    queryFn: () => body(api.GET("/jobs", { params: { query: { session_id: id, user, limit: 100 } } })),
    refetchInterval: 2 * POLL_MS,
  });

export const sessionGraphsQuery = (id: string, user: string) =>
  queryOptions({
    queryKey: ["graphs", "session", id, user],
    queryFn: () => body(api.GET("/graphs", { params: { query: { session_id: id, user, limit: 50 } } })),
    refetchInterval: 2 * POLL_MS,
  });
