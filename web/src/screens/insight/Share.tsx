import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { address } from "../../parts/csv";
import { day, during } from "../../parts/time";
import { shareQuery, start } from "./queries";
import type { InsightSearch } from "./search";

const percent = (value: number) => `${Math.round(value)} %`;

/** How much of their work agents handed to sub-agents, by day. */
export function Share({ period }: { period: NonNullable<InsightSearch["since"]> }) {
  const found = useQuery(shareQuery(period));
  const { x, series } = useMemo(() => {
    const days = [...(found.data?.items ?? [])].reverse(); // the API lists the newest first
    const series: Series[] = [{ name: "Delegated", colour: "accent", values: days.map((one) => 100 * one.share_delegated) }];
    return { x: days.map((one) => one.day ?? ""), series };
  }, [found.data]);
  return (
    <Chart
      title="Delegation share"
      note="Sub-agents' share of the calls not blocked."
      x={x}
      shown={day}
      xName="Day"
      series={series}
      kind="lines"
      format={percent}
      csv={{ url: address("/analytics/delegation", { by: "day", since: start(period) }), name: "delegation" }}
      error={found.error}
      again={() => void found.refetch()}
      loading={found.isLoading}
      details={(at) => during(at, 86_400)}
      empty="No call yet. Run `baton hooks install` in a project and start your agent there."
    />
  );
}
