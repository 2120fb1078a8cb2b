import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { day, during, hour } from "../../parts/time";
import { bucket, latencyQuery, start } from "./queries";
import type { InsightSearch } from "./search";

type Period = NonNullable<InsightSearch["since"]>;

const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
const count = (value: number) => String(Math.round(value));
const table = (period: Period) => ({ url: address("/analytics/latency", { by: bucket(period), since: start(period) }), name: "latency" });

/** How long calls waited for their decision. */
export function Latency({ period }: { period: Period }) {
  const found = useQuery(latencyQuery(period));
  const { x, series } = useMemo(() => {
    const calls = found.data?.items.filter(({ event }) => event === "PreToolUse") ?? [];
    const series: Series[] = [
      { name: "50 % within", colour: "allow", values: calls.map((one) => one.p50_ms) },
      { name: "90 % within", colour: "accent", values: calls.map((one) => one.p90_ms) },
      { name: "99 % within", colour: "rewrite", values: calls.map((one) => one.p99_ms) },
    ];
    return { x: calls.map(({ at }) => at), series };
  }, [found.data]);
  const prompts = found.data?.events.find(({ event }) => event === "UserPromptSubmit");
  return (
    <Chart
      title="Time to decide"
      note={prompts && `Of ${prompts.decisions} prompts, half were routed within ${ms(prompts.p50_ms)}, 99 % within ${ms(prompts.p99_ms)}.`}
      x={x}
      shown={bucket(period) === "day" ? day : hour}
      xName={bucket(period) === "day" ? "Day" : "Hour"}
      series={series}
      kind="lines"
      format={ms}
      csv={table(period)}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      details={(at) => during(at, bucket(period) === "day" ? 86_400 : 3_600)}
      empty="No call was decided in this period."
    />
  );
}

/** Calls that were not decided at all, and decisions that lacked something. */
export function Failures({ period }: { period: Period }) {
  const found = useQuery(latencyQuery(period));
  const { x, series } = useMemo(() => {
    const { items = [], failures = [] } = found.data ?? {};
    const places = [...new Set([...items, ...failures].map(({ at }) => at))].sort();
    const failed = (answer: string) =>
      places.map((place) => failures.reduce((sum, one) => sum + (one.at === place && one.answer === answer ? one.calls : 0), 0));
    const series: Series[] = [
      { name: "Ran without a decision", colour: "deny", values: failed("allow") },
      { name: "Blocked undecided", colour: "ask", values: failed("block") },
      { name: "Degraded decisions", colour: "shadow", values: places.map((place) => items.reduce((sum, one) => sum + (one.at === place ? one.degraded : 0), 0)) },
    ];
    return series.some(({ values }) => values.some(Boolean)) ? { x: places, series } : { x: [], series };
  }, [found.data]);
  const causes = [...new Set((found.data?.failures ?? []).map(({ code }) => code))];
  const lacking = [...new Set((found.data?.events ?? []).flatMap((one) => Object.keys(one.lacking)))];
  const note = [causes.length > 0 && `Undecided: ${causes.join(", ")}.`, lacking.length > 0 && `Lacked: ${lacking.join(", ")}.`].filter(Boolean).join(" ");
  return (
    <Chart
      title="Fail-opens and degraded"
      note={note}
      x={x}
      shown={bucket(period) === "day" ? day : hour}
      xName={bucket(period) === "day" ? "Day" : "Hour"}
      series={series}
      kind="bars"
      format={count}
      whole
      csv={table(period)}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      details={(at) => during(at, bucket(period) === "day" ? 86_400 : 3_600)}
      empty="Every call was decided, with all services available."
    />
  );
}
