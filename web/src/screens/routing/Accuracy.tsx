import { Group, SimpleGrid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { TimeRange } from "../../parts/FilterBar";
import { day, resolved } from "../../parts/time";
import { qualityQuery } from "./queries";

const route = getRouteApi("/shell/routing");
const SPAN = "30d";

const percent = (value: number) => `${Math.round(value)} %`;
const count = (value: number) => String(Math.round(value));

/** How prompts were routed in a period and how often people called it right. */
export function Accuracy() {
  const { since = SPAN, until } = route.useSearch();
  const navigate = useNavigate({ from: "/routing" });
  const range = { since, until };
  const found = useQuery(qualityQuery(range));
  const charts = useMemo(() => {
    const days = found.data?.items ?? [];
    const judged = days.filter((one) => one.judged > 0);
    const routed = days.filter((one) => one.prompts > 0);
    const accuracy: Series[] = [{ name: "Right", colour: "accent", values: judged.map((one) => 100 * one.accuracy) }];
    const told: Series[] = [
      { name: "One agent", colour: "allow", values: routed.map((one) => one.confident) },
      { name: "Shortlist", colour: "accent", values: routed.map((one) => one.shortlist) },
      { name: "None", colour: "shadow", values: routed.map((one) => one.none) },
    ];
    return { judgedDays: judged.map(({ at }) => at), accuracy, routedDays: routed.map(({ at }) => at), told };
  }, [found.data]);
  const total = found.data?.total;
  const csv = { url: address("/analytics/routing", { ...resolved(range) }), name: "routing" };
  const usual = { shown: day, xName: "Day", csv, error: found.error, again: () => void found.refetch(), loading: found.isLoading };
  return (
    <Stack gap="md">
      <Group gap="sm" align="end">
        <TimeRange range={range} set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })} span={SPAN} />
      </Group>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Chart
          {...usual}
          title="Accuracy"
          note={total && total.judged > 0 && `${total.right} of ${total.judged} judged routes were right; ${total.false_routes} led to a wrong agent, ${total.missed} missed one.`}
          x={charts.judgedDays}
          series={charts.accuracy}
          kind="lines"
          format={percent}
          empty="No route has been judged yet. Try a prompt, and judge its route."
        />
        <Chart {...usual} title="Answers to agents" x={charts.routedDays} series={charts.told} kind="bars" format={count} whole empty="No prompt was routed in this time." />
      </SimpleGrid>
    </Stack>
  );
}
