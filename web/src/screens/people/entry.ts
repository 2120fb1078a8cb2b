import { IconUsers } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const people: Entry = { to: "/people", label: "People", Icon: IconUsers, letter: "o" };
