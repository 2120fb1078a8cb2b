import { IconRoute } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const routing: Entry = { to: "/routing", label: "Routing", Icon: IconRoute, letter: "r" };
