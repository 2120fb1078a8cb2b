import { createRootRoute, createRoute } from "@tanstack/react-router";
import { Shell } from "./Shell";

/** Everything; a screen without the frame, such as signing in, hangs here. */
export const root = createRootRoute();

/** The frame that every other screen hangs in. */
export const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
