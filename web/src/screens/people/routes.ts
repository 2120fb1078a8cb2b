import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { PEOPLE_TABS, type PeopleSearch } from "./search";

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
