export const PERIODS = ["24h", "7d", "30d", "90d"] as const;
export const COST_GROUPS = ["user", "team", "project", "model", "agent", "day"] as const;

/** How far back the figures go, and what costs are summed up by. */
export interface InsightSearch {
  since?: (typeof PERIODS)[number] | undefined;
  by?: (typeof COST_GROUPS)[number] | undefined;
}
