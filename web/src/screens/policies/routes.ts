import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

export const TIERS = ["organisation", "team", "project", "user"] as const;
export type Tier = (typeof TIERS)[number];
export const TABS = ["rules", "edit", "diff", "replay"] as const;
export type Tab = (typeof TABS)[number];

/** `name` is the team's, project's or user's; `from` is a decision of which a rule is to be made; `file` is open in the editor. */
export interface LayerSearch {
  tab?: Tab | undefined;
  name?: string | undefined;
  from?: string | undefined;
  file?: string | undefined;
}

export const policiesRoute = createRoute({
  getParentRoute: () => shell,
  path: "/policies",
  component: lazyRouteComponent(() => import("./Policies"), "Policies"),
  validateSearch: (given: Record<string, unknown>): { q?: string | undefined } => (given.q ? { q: String(given.q) } : {}),
});

export const layerRoute = createRoute({
  getParentRoute: () => shell,
  path: "/policies/$tier",
  component: lazyRouteComponent(() => import("./LayerPage"), "LayerPage"),
  params: { parse: ({ tier }: { tier: string }) => ({ tier: (TIERS.find((one) => one === tier) ?? "organisation") as Tier }) },
  validateSearch: (given: Record<string, unknown>): LayerSearch => ({
    tab: TABS.find((one) => one === given.tab), // always set: the router would keep an unknown one otherwise
    ...Object.fromEntries(["name", "from", "file"].flatMap((key) => (given[key] ? [[key, String(given[key])]] : []))),
  }),
});
