import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { COST_GROUPS, type InsightSearch, PERIODS } from "./search";

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
