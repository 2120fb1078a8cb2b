import type { Entry } from "../shell/entry";
import { decisions } from "./decisions/entry";
import { now } from "./now/entry";

/** The screens of the menu, in its order. */
export const MENU: readonly Entry[] = [
  now,
  decisions,
];
