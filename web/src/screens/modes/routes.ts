import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

export const MODE_TABS = ["settings", "exceptions", "unlocks"] as const;

/** What the screen's address holds: the tab, and whose mode is asked for. */
export interface ModesSearch {
  tab?: (typeof MODE_TABS)[number] | undefined;
  session_id?: string | undefined;
  project?: string | undefined;
  user?: string | undefined;
  scope?: string | undefined;
  /** Whether the form of the tab is open. */
  make?: boolean | undefined;
}

const FILTERS = ["session_id", "project", "user", "scope"] as const;

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
