import { IconBinaryTree } from "@tabler/icons-react";
import type { Entry } from "../../shell/entry";

export const graphs: Entry = { to: "/graphs", label: "Graphs", Icon: IconBinaryTree, letter: "t" };
