import { IconHistory } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const audit: Entry = { to: "/audit", label: "Audit", Icon: IconHistory, letter: "a" };
