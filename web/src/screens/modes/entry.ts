import { IconShield } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const modes: Entry = { to: "/modes", label: "Modes", Icon: IconShield, letter: "m" };
