import type { IconActivity } from "@tabler/icons-react";

/** A screen's place in the menu, and the letter that goes there after `g`. */
export interface Entry {
  to: string;
  label: string;
  Icon: typeof IconActivity;
  letter: string;
  /** A hook that returns how many things wait there for whoever is signed in. */
  useCount?: () => number;
}
