import type { Range } from "../../parts/time";

/** The screen's parts; `roster` names the one that a prompt is tried against, absent for the caller's own agents. */
export const TABS = ["try", "accuracy", "rosters", "patterns", "breakers"] as const;
export type Tab = (typeof TABS)[number];
export const STATUSES = ["proposed", "validated", "retired"] as const;

export interface RoutingSearch extends Range {
  tab?: Tab | undefined;
  roster?: string | undefined;
  status?: (typeof STATUSES)[number] | undefined;
}
