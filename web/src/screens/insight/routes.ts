import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

export const PERIODS = ["24h", "7d", "30d", "90d"] as const;
export const COST_GROUPS = ["user", "team", "project", "model", "agent", "day"] as const;

/** How far back the figures go, and what costs are summed up by. */
export interface InsightSearch {
  since?: (typeof PERIODS)[number] | undefined;
  by?: (typeof COST_GROUPS)[number] | undefined;
}

const among = <T extends string>(names: readonly T[], given: unknown) => names.find((name) => name === given);

export const insightRoute = createRoute({
  getParentRoute: () => shell,
  path: "/insight",
  component: lazyRouteComponent(() => import("./Insight"), "Insight"),
  validateSearch: (given: Record<string, unknown>): InsightSearch => ({
    since: among(PERIODS, given.since),
    by: among(COST_GROUPS, given.by),
  }),
});
