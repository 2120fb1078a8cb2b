import type { Entry } from "../shell/entry";
import { audit } from "./audit/entry";
import { decisions } from "./decisions/entry";
import { delegations } from "./delegations/entry";
import { graphs } from "./graphs/entry";
import { now } from "./now/entry";
import { sessions } from "./sessions/entry";
import { health } from "./health/entry";
import { modes } from "./modes/entry";
import { people } from "./people/entry";
import { waiting } from "./waiting/entry";
import { policies } from "./policies/entry";
import { insight } from "./insight/entry";
import { routing } from "./routing/entry";

/** The screens of the menu, in its order. */
export const MENU: readonly Entry[] = [
  now,
  waiting,
  decisions,
  sessions,
  delegations,
  graphs,
  policies,
  routing,
  insight,
  modes,
  people,
  audit,
  health,
];
