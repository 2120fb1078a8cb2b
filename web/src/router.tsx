import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import type { DecisionFilters } from "./api/queries";
import { Decisions } from "./screens/Decisions";
import { Now } from "./screens/Now";
import { SignIn } from "./screens/SignIn";
import { Shell } from "./shell/Shell";

export interface DecisionSearch extends DecisionFilters {
  id?: string | undefined;
}

const FILTERS = ["id", "effect", "decision", "user", "rule", "outcome", "client", "tool", "project", "session_id", "since", "until"] as const;

const root = createRootRoute();
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const now = createRoute({ getParentRoute: () => shell, path: "/", component: Now });
const decisions = createRoute({
  getParentRoute: () => shell,
  path: "/decisions",
  component: Decisions,
  validateSearch: (given: Record<string, unknown>): DecisionSearch =>
    Object.fromEntries(FILTERS.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});
const signIn = createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignIn });

export const router = createRouter({
  routeTree: root.addChildren([shell.addChildren([now, decisions]), signIn]),
  basepath: "/ui",
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
