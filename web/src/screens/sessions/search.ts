export interface SessionFilters {
  live?: boolean;
  q?: string;
  user?: string;
  project?: string;
  client?: string;
  since?: string;
  until?: string;
}
export const TABS = ["timeline", "agents"] as const;

export interface SessionSearch {
  tab?: (typeof TABS)[number] | undefined;
  user?: string;
  kind?: string;
}
