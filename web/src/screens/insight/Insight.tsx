import "@mantine/core/styles/FloatingIndicator.css";
import "@mantine/core/styles/SegmentedControl.css";
import { Group, SegmentedControl, SimpleGrid, Stack, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Blocked } from "./Blocked";
import { Clients } from "./Clients";
import { Cost, Savings } from "./Cost";
import { Share } from "./Share";
import { Failures, Latency } from "./Latency";
import { Summary } from "./Summary";
import { type InsightSearch, PERIODS } from "./search";
import { Views } from "../../parts/Views";
import { WrongBlocks } from "./WrongBlocks";

const route = getRouteApi("/shell/insight");
const NAMES = { "24h": "Day", "7d": "Week", "30d": "Month", "90d": "Quarter" } as const;

/** What Baton has done in a period: delegated, saved, cost, blocked, how quickly, and what failed. */
export function Insight() {
  const { since = "7d", by = "user" } = route.useSearch();
  const navigate = useNavigate({ from: "/insight" });
  const set = (change: InsightSearch) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Insight</Title>
        <Group gap="xs" align="end">
          <SegmentedControl
            aria-label="Period"
            size="xs"
            data={PERIODS.map((value) => ({ value, label: NAMES[value] }))}
            value={since}
            onChange={(value) => set({ since: PERIODS.find((one) => one === value) })}
          />
          <Views />
        </Group>
      </Group>
      <Summary period={since} />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Share period={since} />
        <Savings period={since} />
        <Cost period={since} by={by} setBy={(value) => set({ by: value })} />
        <Blocked period={since} />
        <Latency period={since} />
        <Failures period={since} />
        <WrongBlocks period={since} />
        <Clients />
      </SimpleGrid>
    </Stack>
  );
}
