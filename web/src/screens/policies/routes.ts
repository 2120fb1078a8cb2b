import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { Range } from "../../parts/time";
import { shell } from "../../shell/root";
import { type Tier, TIERS, WAYS } from "../../parts/layers";
import { type LayerSearch, TABS } from "./search";

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
