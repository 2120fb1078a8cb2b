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
export const FILTERS = ["session_id", "project", "user", "scope"] as const;
