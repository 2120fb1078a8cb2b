import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { Range } from "../../parts/time";
import { shell } from "../../shell/root";

/** The filters of the list, as they stand in the page's URL. */
export interface GraphFilters extends Range {
  session_id?: string | undefined;
  user?: string | undefined;
}

const FILTERS = ["session_id", "user", "since", "until"] as const;

export const graphsRoute = createRoute({
  getParentRoute: () => shell,
  path: "/graphs",
  component: lazyRouteComponent(() => import("./Graphs"), "Graphs"),
  validateSearch: (given: Record<string, unknown>): GraphFilters => Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});

export const graphRoute = createRoute({
  getParentRoute: () => shell,
  path: "/graphs/$id",
  component: lazyRouteComponent(() => import("./Graph"), "Graph"),
});
