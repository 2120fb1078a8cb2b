import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { type RoutingSearch, STATUSES, TABS } from "./search";

export const routingRoute = createRoute({
  getParentRoute: () => shell,
  path: "/routing",
  component: lazyRouteComponent(() => import("./Routing"), "Routing"),
  validateSearch: (given: Record<string, unknown>): RoutingSearch => ({
    tab: TABS.find((one) => one === given.tab),
    roster: given.roster ? String(given.roster) : undefined,
    status: STATUSES.find((one) => one === given.status),
    since: given.since ? String(given.since) : undefined,
    until: given.until ? String(given.until) : undefined,
  }),
});

export const rosterRoute = createRoute({
  getParentRoute: () => shell,
  path: "/rosters/$name",
  component: lazyRouteComponent(() => import("./Roster"), "Roster"),
  validateSearch: (given: Record<string, unknown>): { agent?: string | undefined } => ({
    agent: given.agent ? String(given.agent) : undefined,
  }),
});
