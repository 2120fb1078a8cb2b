import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

/** What the screen's address holds: whether all settings are shown, and a part of a setting's name. */
export interface HealthSearch {
  all?: true | undefined;
  setting?: string | undefined;
}

export const healthRoute = createRoute({
  getParentRoute: () => shell,
  path: "/health",
  component: lazyRouteComponent(() => import("./Health"), "Health"),
  validateSearch: (given: Record<string, unknown>): HealthSearch => ({
    all: given.all ? true : undefined,
    setting: given.setting ? String(given.setting) : undefined,
  }),
});
