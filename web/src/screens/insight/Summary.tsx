import { SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { count, usd } from "../../parts/figures";
import { anywayQuery, costQuery, latencyQuery, shareQuery } from "./queries";
import type { InsightSearch } from "./search";

/** The period in five figures; "–" where there is nothing to count yet. */
export function Summary({ period }: { period: NonNullable<InsightSearch["since"]> }) {
  const days = useQuery(shareQuery(period)).data?.items;
  const costs = useQuery(costQuery(period, "day")).data?.items;
  const latency = useQuery(latencyQuery(period)).data;
  const sum = <T,>(items: readonly T[] | undefined, of: (one: T) => number) => items?.reduce((total, one) => total + of(one), 0);
  const delegated = sum(days, (one) => one.delegated) ?? 0;
  const made = delegated + (sum(days, (one) => one.direct) ?? 0);
  const calls = latency?.events.find(({ event }) => event === "PreToolUse");
  const anyway = useQuery(anywayQuery(period)).data;
  const opened = sum(latency?.failures.filter(({ answer }) => answer === "allow"), (one) => one.calls);
  const shown = (value: number | undefined, format: (value: number) => string) => (value === undefined ? "–" : format(value));
  const money = (value: number) => usd(Math.round(100 * value) / 100);
  const figures: [string, string][] = [
    ["Delegated", made ? `${Math.round((100 * delegated) / made)} %` : "–"],
    ["Saved by models obeyed", shown(sum(costs, (one) => one.saved_usd), money)],
    ["Agents' cost", shown(sum(costs, (one) => one.usd), money)],
    ["99 of 100 decided within", shown(calls?.p99_ms, (ms) => `${ms.toFixed(1)} ms`)],
    ["Ran without a decision", shown(opened, count)],
    ["Ran although refused", shown(anyway, count)],
  ];
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }}>
      {figures.map(([name, figure]) => (
        <div key={name} className={name === "Ran although refused" && anyway ? "panel alarm" : "panel"} role={name === "Ran although refused" && anyway ? "alert" : undefined}>
          <div className="figure">{figure}</div>
          {name === "Ran although refused" && anyway ? (
            <Link to="/decisions" search={{ outcome: "ran_anyway", since: period }} style={{ color: "inherit" }}>
              {name}
            </Link>
          ) : (
            <div className="muted">{name}</div>
          )}
        </div>
      ))}
    </SimpleGrid>
  );
}
