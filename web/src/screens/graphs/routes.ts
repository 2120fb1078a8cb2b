import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

export interface GraphFilters {
  session_id?: string;
  user?: string;
}

export const graphsRoute = createRoute({
  getParentRoute: () => shell,
  path: "/graphs",
  component: lazyRouteComponent(() => import("./Graphs"), "Graphs"),
  validateSearch: (given: Record<string, unknown>): GraphFilters => ({
    ...(given.session_id ? { session_id: String(given.session_id) } : {}),
    ...(given.user ? { user: String(given.user) } : {}),
  }),
});

export const graphRoute = createRoute({
  getParentRoute: () => shell,
  path: "/graphs/$id",
  component: lazyRouteComponent(() => import("./Graph"), "Graph"),
});
