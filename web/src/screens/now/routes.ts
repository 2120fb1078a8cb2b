import { createRoute } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { Now } from "./Now";

export const nowRoute = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: Now,
  validateSearch: (given: Record<string, unknown>): { id?: string | undefined } => (given.id ? { id: String(given.id) } : {}),
});
