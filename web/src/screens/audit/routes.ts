import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { type AuditSearch, FILTERS } from "./search";

export const auditRoute = createRoute({
  getParentRoute: () => shell,
  path: "/audit",
  component: lazyRouteComponent(() => import("./Audit"), "Audit"),
  validateSearch: (given: Record<string, unknown>): AuditSearch =>
    Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});
