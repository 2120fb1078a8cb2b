import { createRouter } from "@tanstack/react-router";
import { decisionsRoute } from "./screens/decisions/routes";
import { nowRoute } from "./screens/now/routes";
import { signInRoute } from "./screens/sign_in/routes";
import { root, shell } from "./shell/root";

const inTheFrame = shell.addChildren([
  nowRoute,
  decisionsRoute,
]);

export const router = createRouter({
  routeTree: root.addChildren([inTheFrame, signInRoute]),
  basepath: "/ui",
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
