import { IconHeartbeat } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const health: Entry = { to: "/health", label: "Health", Icon: IconHeartbeat, letter: "h" };
