import { IconChartBar } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const insight: Entry = { to: "/insight", label: "Insight", Icon: IconChartBar, letter: "i" };
