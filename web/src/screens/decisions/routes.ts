import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { DecisionFilters } from "../../api/queries";
import { shell } from "../../shell/root";

export interface DecisionSearch extends DecisionFilters {
  id?: string | undefined;
}

const FILTERS = ["id", "effect", "decision", "user", "rule", "outcome", "client", "tool", "project", "session_id", "agent_type", "revision", "q", "since", "until"] as const;

export const decisionsRoute = createRoute({
  getParentRoute: () => shell,
  path: "/decisions",
  component: lazyRouteComponent(() => import("./Decisions"), "Decisions"),
  validateSearch: (given: Record<string, unknown>): DecisionSearch =>
    Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});
