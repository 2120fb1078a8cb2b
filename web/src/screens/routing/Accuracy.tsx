import { SimpleGrid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { day } from "../../parts/time";
import { Fits } from "./Fits";
import { monthAgo, qualityQuery } from "./queries";

const percent = (value: number) => `${Math.round(value)} %`;
const count = (value: number) => String(Math.round(value));

/** How prompts were routed in the last 30 days, how often people called it right, and the weights fitted to that. */
export function Accuracy() {
  const found = useQuery(qualityQuery);
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
  const csv = { url: address("/analytics/routing", { since: monthAgo() }), name: "routing" };
  const usual = { shown: day, xName: "Day", csv, error: found.error, again: () => void found.refetch(), loading: found.isLoading };
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Chart
          {...usual}
          title="Accuracy"
          note={total && total.judged > 0 && `${total.right} of ${total.judged} judged routes were right; ${total.false_routes} led to a wrong agent, ${total.missed} missed one.`}
          x={charts.judgedDays}
          series={charts.accuracy}
          kind="lines"
          format={percent}
          empty="Nobody has said of a route whether it was right. Try a prompt, and say so."
        />
        <Chart {...usual} title="What agents were told" x={charts.routedDays} series={charts.told} kind="bars" format={count}
      whole empty="No prompt was routed in the last 30 days." />
      </SimpleGrid>
      <Fits />
    </Stack>
  );
}
