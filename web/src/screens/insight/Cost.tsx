import "@mantine/core/styles/Input.css";
import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { many, usd } from "../../parts/figures";
import { day } from "../../parts/time";
import { costQuery, shareQuery, start } from "./queries";
import { COST_GROUPS, type InsightSearch } from "./search";

type Period = NonNullable<InsightSearch["since"]>;
type By = NonNullable<InsightSearch["by"]>;

const NAMES: Record<By, string> = { user: "Person", team: "Team", project: "Project", model: "Model", agent: "Agent", day: "Day" };
const named = (group: string) => group || "(none)";

/** What cheaper models saved, by day; what a client ignored saves nothing. */
export function Savings({ period }: { period: Period }) {
  const found = useQuery(costQuery(period, "day"));
  const calls = useQuery(shareQuery(period)).data?.items ?? [];
  const { x, series } = useMemo(() => {
    const days = found.data?.items ?? [];
    const series: Series[] = [{ name: "Saved", colour: "allow", values: days.map((one) => one.saved_usd) }];
    return { x: days.map((one) => one.group), series };
  }, [found.data]);
  const [cheaper, ignored] = [calls.reduce((sum, one) => sum + one.cheaper, 0), calls.reduce((sum, one) => sum + one.ignored, 0)];
  return (
    <Chart
      title="Model savings"
      note={`${many(cheaper, "agent call")} ${cheaper === 1 ? "was" : "were"} put on a cheaper model and obeyed; ${ignored} ignored theirs and save nothing.`}
      x={x}
      shown={day}
      xName="Day"
      series={series}
      kind="bars"
      format={usd}
      csv={{ url: address("/analytics/cost", { by: "day", since: start(period) }), name: "savings" }}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      empty="No sub-agent has reported its usage yet."
    />
  );
}

/** What agents cost, by person, team, project, model, agent or day. */
export function Cost({ period, by, setBy }: { period: Period; by: By; setBy: (by: By) => void }) {
  const found = useQuery(costQuery(period, by));
  const { x, series } = useMemo(() => {
    const groups = found.data?.items ?? [];
    const series: Series[] = [
      { name: "Sub-agents of sessions", colour: "accent", values: groups.map((one) => one.calls_usd) },
      { name: "Delegated jobs", colour: "rewrite", values: groups.map((one) => one.jobs_usd) },
    ];
    return { x: groups.map((one) => named(one.group)), series };
  }, [found.data]);
  const byDay = (found.data?.by ?? by) === "day";
  const unpriced = found.data?.items.reduce((sum, one) => sum + one.unpriced_tokens, 0) ?? 0;
  return (
    <Chart
      title="Cost"
      note={[!byDay && x.length > 8 && "The chart shows the eight most expensive. The table shows all.", unpriced > 0 && `${unpriced.toLocaleString()} tokens are of models without a price.`].filter(Boolean).join(" ")}
      x={x}
      named={!byDay}
      shown={byDay ? day : named}
      xName={NAMES[by]}
      series={series}
      kind="bars"
      format={usd}
      csv={{ url: address("/analytics/cost", { by, since: start(period) }), name: `cost-by-${by}` }}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      {...((by === "user" || by === "project") && { details: (name: string) => ({ [by]: name === "(none)" ? "" : name, since: period }) })}
      empty="No sub-agent reported its usage, and no job ran."
      controls={
        <NativeSelect
          aria-label="Costs by"
          size="xs"
          data={COST_GROUPS.map((value) => ({ value, label: `By ${NAMES[value].toLowerCase()}` }))}
          value={by}
          onChange={(event) => setBy(COST_GROUPS.find((one) => one === event.currentTarget.value) ?? "user")}
        />
      }
    />
  );
}
