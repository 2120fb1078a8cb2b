import { IconArrowGuide } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const delegations: Entry = { to: "/delegations", label: "Delegations", Icon: IconArrowGuide, letter: "j" };
