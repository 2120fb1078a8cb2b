import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { POLL_MS } from "../../api/queries";
import { resolved } from "../../parts/time";
import { hasEnded } from "../../parts/JobState";

export type Job = Schemas["JobModel"];
export type JobSummary = Schemas["JobSummary"];
export type Change = Schemas["ChangeModel"];
export type ResultAction = Schemas["ResultActionModel"];

/** The filters of the list, as they stand in the page's URL. */
export interface JobFilters {
  state?: string | undefined;
  provider?: string | undefined;
  user?: string | undefined;
  workspace?: string | undefined;
  session_id?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

export const jobsQuery = (filters: JobFilters) =>
  infiniteQueryOptions({
    queryKey: ["jobs", filters],
    queryFn: ({ pageParam }) =>
      body(api.GET("/jobs", { params: { query: { ...(resolved(filters) as object), limit: 50, cursor: pageParam } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) < 2 ? POLL_MS : false),
  });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: () => body(api.GET("/jobs/{job_id}", { params: { path: { job_id: id } } })),
    refetchInterval: (query) => (query.state.data && hasEnded(query.state.data.state) ? false : POLL_MS),
  });

/** The jobs of a session, the newest first: the chains and the parallel ones of a job are among them. */
export const siblingsQuery = (session: string, user: string) =>
  queryOptions({
    queryKey: ["jobs", "session", session, user],
    queryFn: () => body(api.GET("/jobs", { params: { query: { session_id: session, user, limit: 50 } } })),
    refetchInterval: 2 * POLL_MS,
  });

export const runnersQuery = queryOptions({
  queryKey: ["runners"],
  queryFn: () => body(api.GET("/runners")),
  refetchInterval: 5 * POLL_MS,
});

export const changeQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "diff"],
    queryFn: () => body(api.GET("/jobs/{job_id}/diff", { params: { path: { job_id: id } } })),
  });

/** The parts of a difference that the job's runner has, of one file or of all, in pages of at most 96 KiB. */
export const diffPagesQuery = (id: string, path: string) =>
  infiniteQueryOptions({
    queryKey: ["job", id, "diff", "pages", path],
    queryFn: ({ pageParam }) => body(api.GET("/jobs/{job_id}/diff/pages", { params: { path: { job_id: id }, query: { path, offset: pageParam } } })),
    initialPageParam: 0,
    getNextPageParam: (page) => page.next_offset ?? undefined,
    staleTime: Infinity,
    retry: false,
  });
