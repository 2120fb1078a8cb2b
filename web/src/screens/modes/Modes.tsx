import "@mantine/core/styles/Tabs.css";
import { Stack, Tabs, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Exceptions } from "./Exceptions";
import { MODE_TABS } from "./search";
import { Settings } from "./Settings";
import { Unlocks } from "./Unlocks";

const route = getRouteApi("/shell/modes");
const NAMES = { settings: "Settings", exceptions: "Exceptions", unlocks: "Unlocked rules" } as const;

/** The orchestrator mode by scope, and the rules that somebody lifted or unlocked for a time. */
export function Modes() {
  const { tab = "settings" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Stack gap="md">
      <Title order={1}>Modes</Title>
      <Tabs value={tab} onChange={(one) => void navigate({ search: { tab: MODE_TABS.find((known) => known === one) } })} keepMounted={false}>
        <Tabs.List mb="md">
          {MODE_TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {NAMES[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="settings">
          <Settings />
        </Tabs.Panel>
        <Tabs.Panel value="exceptions">
          <Exceptions />
        </Tabs.Panel>
        <Tabs.Panel value="unlocks">
          <Unlocks />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
