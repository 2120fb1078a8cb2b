import type { Range } from "../../parts/time";

/** The filters of the list, as they stand in the page's URL. */
export interface GraphFilters extends Range {
  session_id?: string | undefined;
  user?: string | undefined;
}
export const FILTERS = ["session_id", "user", "since", "until"] as const;
