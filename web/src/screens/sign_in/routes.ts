import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { root } from "../../shell/root";
import { SignIn } from "./SignIn";

export const signInRoute = createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignIn });

export const accountRoute = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/account",
  component: lazyRouteComponent(() => import("./Account"), "Account"),
});
