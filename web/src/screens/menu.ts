import type { Entry } from "../shell/entry";
import { decisions } from "./decisions/entry";
import { delegations } from "./delegations/entry";
import { graphs } from "./graphs/entry";
import { now } from "./now/entry";
import { sessions } from "./sessions/entry";

/** The screens of the menu, in its order. */
export const MENU: readonly Entry[] = [
  now,
  decisions,
  sessions,
  delegations,
  graphs,
];
