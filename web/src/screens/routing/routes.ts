import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { Range } from "../../parts/time";
import { shell } from "../../shell/root";

/** The screen's parts; `roster` names the one that a prompt is tried against, absent for the caller's own agents. */
export const TABS = ["try", "accuracy", "rosters", "patterns", "breakers"] as const;
export type Tab = (typeof TABS)[number];

export const STATUSES = ["proposed", "validated", "retired"] as const;

export interface RoutingSearch extends Range {
  tab?: Tab | undefined;
  roster?: string | undefined;
  status?: (typeof STATUSES)[number] | undefined;
}

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
