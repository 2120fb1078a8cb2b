import { IconAdjustmentsHorizontal } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const modes: Entry = { to: "/modes", label: "Modes", Icon: IconAdjustmentsHorizontal, letter: "m" };
