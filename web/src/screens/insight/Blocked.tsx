import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { day, during } from "../../parts/time";
import { blockedQuery, start } from "./queries";
import type { InsightSearch } from "./search";

const COLOURS = ["deny", "accent", "ask", "rewrite", "allow"] as const;
const count = (value: number) => String(Math.round(value));

/** Blocked calls by day and rule: the five rules that matched most, and all others together. */
export function Blocked({ period }: { period: NonNullable<InsightSearch["since"]> }) {
  const found = useQuery(blockedQuery(period));
  const { x, series } = useMemo(() => {
    const buckets = found.data?.items ?? [];
    const groups = found.data?.groups ?? [];
    const often = groups.slice(0, COLOURS.length);
    const rest = groups.slice(COLOURS.length);
    const series: Series[] = often.map((name, place) => ({
      name,
      colour: COLOURS[place] ?? "shadow",
      values: buckets.map(({ counts }) => counts[name] ?? 0),
    }));
    if (rest.length > 0) {
      const others = buckets.map((one) => one.others + rest.reduce((sum, name) => sum + (one.counts[name] ?? 0), 0));
      series.push({ name: "other rules", colour: "shadow", values: others });
    }
    return { x: buckets.map(({ at }) => at), series };
  }, [found.data]);
  return (
    <Chart
      title="Blocked by rule"
      note="A call counts for each matching rule."
      x={x}
      shown={day}
      xName="Day"
      series={series}
      kind="bars"
      format={count}
      whole
      csv={{ url: address("/decisions/counts", { by: "day", group: "rule", decision: "block", since: start(period) }), name: "blocked" }}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      details={(at) => ({ ...during(at, 86_400), decision: "block" })}
      empty="No call was blocked in this period."
    />
  );
}
