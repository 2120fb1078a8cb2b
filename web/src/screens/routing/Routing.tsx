import "@mantine/core/styles/Tabs.css";
import { Stack, Tabs, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Accuracy } from "./Accuracy";
import { Breakers } from "./Breakers";
import { Patterns } from "./Patterns";
import { Rosters } from "./Rosters";
import { type Tab, TABS } from "./search";
import { TryPrompt } from "./TryPrompt";

const route = getRouteApi("/shell/routing");
const NAMES: Record<Tab, string> = { try: "Try a prompt", accuracy: "Accuracy", rosters: "Rosters", patterns: "Patterns", breakers: "Breakers" };

/** Which agents prompts are led to, how well, and what the team has learned. */
export function Routing() {
  const { tab = "try" } = route.useSearch();
  const navigate = useNavigate({ from: "/routing" });
  return (
    <Stack gap="md">
      <Title order={1}>Routing and agents</Title>
      <Tabs value={tab} onChange={(value) => void navigate({ search: { tab: TABS.find((one) => one === value) } })} keepMounted={false}>
        <Tabs.List mb="md">
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {NAMES[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="try">
          <TryPrompt />
        </Tabs.Panel>
        <Tabs.Panel value="accuracy">
          <Accuracy />
        </Tabs.Panel>
        <Tabs.Panel value="rosters">
          <Rosters />
        </Tabs.Panel>
        <Tabs.Panel value="patterns">
          <Patterns />
        </Tabs.Panel>
        <Tabs.Panel value="breakers">
          <Breakers />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
