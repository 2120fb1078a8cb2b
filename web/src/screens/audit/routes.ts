import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

const FILTERS = ["kind", "object", "actor", "since", "until"] as const;
export type AuditSearch = Partial<Record<(typeof FILTERS)[number], string>>;

export const auditRoute = createRoute({
  getParentRoute: () => shell,
  path: "/audit",
  component: lazyRouteComponent(() => import("./Audit"), "Audit"),
  validateSearch: (given: Record<string, unknown>): AuditSearch =>
    Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});
