import { Stack, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { DecisionDrawer } from "../../parts/decision/DecisionDrawer";
import { Alarms } from "./Alarms";
import { Figures } from "./Figures";
import { FirstSteps } from "./FirstSteps";
import { collect, feed } from "./live";
import { LiveFeed } from "./LiveFeed";
import { MinuteChart } from "./MinuteChart";
import { useTick } from "./queries";

const route = getRouteApi("/shell/");

/** Home: what happens now, and what a new server still needs. */
export function Now() {
  const { id } = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(collect, []);
  const tick = useTick();
  const calls = useSyncExternalStore(feed.subscribe, () => Math.min(1, feed.snapshot().items.length));
  const open = useCallback((one: string | undefined) => void navigate({ search: one ? { id: one } : {} }), [navigate]);
  return (
    <Stack gap="md">
      <Title order={1}>Now</Title>
      <Alarms />
      <Figures tick={tick} />
      <FirstSteps calls={calls} />
      <MinuteChart tick={tick} />
      <LiveFeed open={open} opened={id !== undefined} />
      <DecisionDrawer id={id} close={() => open(undefined)} />
    </Stack>
  );
}
