import type { Way } from "../../parts/layers";

export const TABS = ["rules", "edit", "diff", "replay"] as const;
export type Tab = (typeof TABS)[number];

/** `name` is the team's, project's or user's; `from` is a decision of which a rule is to be made; `file` is open in the editor. */
export interface LayerSearch {
  tab?: Tab | undefined;
  name?: string | undefined;
  from?: string | undefined;
  way?: Way | undefined;
  file?: string | undefined;
}
