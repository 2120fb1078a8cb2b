import { IconListDetails } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const decisions: Entry = { to: "/decisions", label: "Decisions", Icon: IconListDetails, letter: "d" };
