import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import type { JobFilters } from "./queries";

const FILTERS = ["state", "provider", "user", "workspace", "session_id", "since", "until"] as const;
const GIVEN = ["thread", "workspace", "provider", "depends_on"] as const;

/** What the form begins with, such as the workspace of a job that is done over. */
export type NewDelegationSearch = Partial<Record<(typeof GIVEN)[number], string>>;

const texts = <T>(names: readonly string[], given: Record<string, unknown>) =>
  Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))) as T;

export const delegationsRoute = createRoute({
  getParentRoute: () => shell,
  path: "/delegations",
  component: lazyRouteComponent(() => import("./Delegations"), "Delegations"),
  validateSearch: (given: Record<string, unknown>): JobFilters => texts<JobFilters>(FILTERS, given),
});

export const newDelegationRoute = createRoute({
  getParentRoute: () => shell,
  path: "/delegations/new",
  component: lazyRouteComponent(() => import("./NewDelegation"), "NewDelegation"),
  validateSearch: (given: Record<string, unknown>) => texts<NewDelegationSearch>(GIVEN, given),
});

export const delegationRoute = createRoute({
  getParentRoute: () => shell,
  path: "/delegations/$job",
  component: lazyRouteComponent(() => import("./Delegation"), "Delegation"),
  // Jobs that are shown beside this one, by their ids; `none` for no other.
  validateSearch: (given: Record<string, unknown>): { beside?: string } =>
    given.beside ? { beside: String(given.beside) } : {},
});
