import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

export const PEOPLE_TABS = ["users", "teams", "tokens", "browsers", "roles"] as const;

/** What the screen's address holds: the tab, and whose rows it shows. */
export interface PeopleSearch {
  tab?: (typeof PEOPLE_TABS)[number] | undefined;
  team?: string | undefined;
  user?: string | undefined;
}

export const peopleRoute = createRoute({
  getParentRoute: () => shell,
  path: "/people",
  component: lazyRouteComponent(() => import("./People"), "People"),
  validateSearch: (given: Record<string, unknown>): PeopleSearch => ({
    tab: PEOPLE_TABS.find((one) => one === given.tab),
    team: given.team ? String(given.team) : undefined,
    user: given.user ? String(given.user) : undefined,
  }),
});
