import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shell } from "../../shell/root";
import { NAMES, type Simulation } from "./search";

export const simulatorRoute = createRoute({
  getParentRoute: () => shell,
  path: "/simulator",
  component: lazyRouteComponent(() => import("./Simulator"), "Simulator"),
  validateSearch: (given: Record<string, unknown>): Simulation =>
    Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))),
});
