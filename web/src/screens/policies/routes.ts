import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { Range } from "../../parts/time";
import { shell } from "../../shell/root";

export const TIERS = ["organisation", "team", "project", "user"] as const;
export type Tier = (typeof TIERS)[number];
export const TABS = ["rules", "edit", "diff", "replay"] as const;
export const WAYS = ["change", "own", "test"] as const;
/** What a rule made of a decision does: change the rule that stopped it, refuse it too, or keep it as a test. */
export type Way = (typeof WAYS)[number];
export type Tab = (typeof TABS)[number];

/** `name` is the team's, project's or user's; `from` is a decision of which a rule is to be made; `file` is open in the editor. */
export interface LayerSearch {
  tab?: Tab | undefined;
  name?: string | undefined;
  from?: string | undefined;
  way?: Way | undefined;
  file?: string | undefined;
}

export const policiesRoute = createRoute({
  getParentRoute: () => shell,
  path: "/policies",
  component: lazyRouteComponent(() => import("./Policies"), "Policies"),
  validateSearch: (given: Record<string, unknown>): Range & { q?: string | undefined } =>
    Object.fromEntries(["q", "since", "until"].flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});

export const layerRoute = createRoute({
  getParentRoute: () => shell,
  path: "/policies/$tier",
  component: lazyRouteComponent(() => import("./LayerPage"), "LayerPage"),
  params: { parse: ({ tier }: { tier: string }) => ({ tier: (TIERS.find((one) => one === tier) ?? "organisation") as Tier }) },
  validateSearch: (given: Record<string, unknown>): LayerSearch => ({
    way: WAYS.find((one) => one === given.way),
    tab: TABS.find((one) => one === given.tab), // always set: the router would keep an unknown one otherwise
    ...Object.fromEntries(["name", "from", "file"].flatMap((key) => (given[key] ? [[key, String(given[key])]] : []))),
  }),
});
