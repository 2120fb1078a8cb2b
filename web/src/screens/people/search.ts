export const PEOPLE_TABS = ["users", "teams", "tokens", "browsers", "roles"] as const;

/** What the screen's address holds: the tab, and whose rows it shows. */
export interface PeopleSearch {
  tab?: (typeof PEOPLE_TABS)[number] | undefined;
  team?: string | undefined;
  user?: string | undefined;
}
