export const TIERS = ["organisation", "team", "project", "user"] as const;
export type Tier = (typeof TIERS)[number];
export const WAYS = ["change", "own", "test"] as const;
/** What a rule made of a decision does: change the rule that stopped it, refuse it too, or keep it as a test. */
export type Way = (typeof WAYS)[number];
