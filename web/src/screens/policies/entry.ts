import { IconShieldCheck } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const policies: Entry = { to: "/policies", label: "Policies", Icon: IconShieldCheck, letter: "p" };
