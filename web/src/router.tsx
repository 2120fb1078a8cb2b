import { createRoute, createRouter } from "@tanstack/react-router";
import { auditRoute } from "./screens/audit/routes";
import { decisionsRoute } from "./screens/decisions/routes";
import { delegationRoute, delegationsRoute, newDelegationRoute } from "./screens/delegations/routes";
import { graphRoute, graphsRoute } from "./screens/graphs/routes";
import { nowRoute } from "./screens/now/routes";
import { sessionRoute, sessionsRoute } from "./screens/sessions/routes";
import { healthRoute } from "./screens/health/routes";
import { modesRoute } from "./screens/modes/routes";
import { peopleRoute } from "./screens/people/routes";
import { layerRoute, policiesRoute } from "./screens/policies/routes";
import { simulatorRoute } from "./screens/simulator/routes";
import { insightRoute } from "./screens/insight/routes";
import { rosterRoute, routingRoute } from "./screens/routing/routes";
import { accountRoute, signInRoute } from "./screens/sign_in/routes";
import { questionRoute, waitingRoute } from "./screens/waiting/routes";
import { NoScreen } from "./shell/NoScreen";
import { root, shell } from "./shell/root";

const noScreenRoute = createRoute({ getParentRoute: () => shell, path: "$", component: NoScreen });

const inTheFrame = shell.addChildren([
  nowRoute,
  waitingRoute,
  questionRoute,
  decisionsRoute,
  sessionsRoute,
  sessionRoute,
  delegationsRoute,
  newDelegationRoute,
  delegationRoute,
  graphsRoute,
  graphRoute,
  policiesRoute,
  layerRoute,
  simulatorRoute,
  routingRoute,
  rosterRoute,
  insightRoute,
  modesRoute,
  peopleRoute,
  auditRoute,
  healthRoute,
  noScreenRoute,
]);

export const router = createRouter({
  routeTree: root.addChildren([inTheFrame, signInRoute, accountRoute]),
  basepath: "/ui",
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
