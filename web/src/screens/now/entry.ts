import { IconActivity } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const now: Entry = { to: "/", label: "Now", Icon: IconActivity, letter: "n" };
