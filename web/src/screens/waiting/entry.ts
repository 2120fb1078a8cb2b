import { IconHandStop } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";
import { useMyQuestions } from "../../parts/question/queries";

export const waiting: Entry = { to: "/waiting", label: "Waiting", Icon: IconHandStop, letter: "w", useCount: useMyQuestions };
