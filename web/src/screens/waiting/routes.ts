import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";

const component = lazyRouteComponent(() => import("./Waiting"), "Waiting");

export const waitingRoute = createRoute({ getParentRoute: () => shell, path: "/waiting", component });
export const questionRoute = createRoute({ getParentRoute: () => shell, path: "/waiting/$id", component });
