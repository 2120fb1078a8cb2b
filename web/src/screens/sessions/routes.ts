import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { type SessionFilters, type SessionSearch, TABS } from "./search";

const texts = (names: readonly string[], given: Record<string, unknown>) =>
  Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, String(given[name])]] : [])));

export const sessionsRoute = createRoute({
  getParentRoute: () => shell,
  path: "/sessions",
  component: lazyRouteComponent(() => import("./Sessions"), "Sessions"),
  validateSearch: (given: Record<string, unknown>): SessionFilters => ({
    ...(given.live ? { live: true } : {}),
    ...texts(["q", "user", "project", "client", "since", "until"], given),
  }),
});

export const sessionRoute = createRoute({
  getParentRoute: () => shell,
  path: "/sessions/$id",
  component: lazyRouteComponent(() => import("./Session"), "Session"),
  validateSearch: (given: Record<string, unknown>): SessionSearch => ({
    tab: TABS.find((one) => one === given.tab), // always set: the router would keep an unknown one otherwise
    ...texts(["user", "kind"], given),
  }),
});
