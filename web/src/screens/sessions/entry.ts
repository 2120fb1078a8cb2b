import { IconMessages } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const sessions: Entry = { to: "/sessions", label: "Sessions", Icon: IconMessages, letter: "s" };
