import "@mantine/core/styles/Tabs.css";
import { Stack, Tabs, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Browsers } from "./Browsers";
import { Roles } from "./Roles";
import { PEOPLE_TABS } from "./search";
import { Teams } from "./Teams";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

const route = getRouteApi("/shell/people");
const PANELS = {
  users: ["Users", Users],
  teams: ["Teams and projects", Teams],
  tokens: ["Tokens", Tokens],
  browsers: ["Signed-in browsers", Browsers],
  roles: ["Roles", Roles],
} as const;

/** Who may speak to this server, by which token or browser, and in which team they are. */
export function People() {
  const { tab = "users" } = route.useSearch();
  const navigate = route.useNavigate();
  const [, Panel] = PANELS[tab];
  return (
    <Stack gap="md">
      <Title order={1}>People</Title>
      <Tabs value={tab} onChange={(one) => void navigate({ search: { tab: PEOPLE_TABS.find((known) => known === one) } })} keepMounted={false}>
        <Tabs.List mb="md">
          {PEOPLE_TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {PANELS[one][0]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Panel />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
