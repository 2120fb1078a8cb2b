import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { FILTERS, type GraphFilters } from "./search";

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
