import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { FILTERS, MODE_TABS, type ModesSearch } from "./search";

export const modesRoute = createRoute({
  getParentRoute: () => shell,
  path: "/modes",
  component: lazyRouteComponent(() => import("./Modes"), "Modes"),
  validateSearch: (given: Record<string, unknown>): ModesSearch => ({
    tab: MODE_TABS.find((one) => one === given.tab),
    make: given.make ? true : undefined,
    ...Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
  }),
});
