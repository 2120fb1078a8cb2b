import { Button, Group, Table, Text, Title } from "@mantine/core";
import { IconDownload, IconTable, IconChartLine } from "@tabler/icons-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import type { DecisionFilters } from "../api/queries";
import { downloadCsv } from "./csv";
import { Failed } from "./Failed";
import type { Series } from "./Plot";
import { Words } from "./Words";

export type { Series };

const Plot = lazy(() => import("./Plot").then((module) => ({ default: module.Plot })));

interface ChartProps {
  title: string;
  note?: ReactNode;
  /** Moments as the API writes them, or the names of groups; `shown` names them in the table. */
  x: readonly string[];
  named?: boolean;
  shown: (at: string) => string;
  xName: string;
  series: readonly Series[];
  kind: "lines" | "bars";
  format: (value: number) => string;
  whole?: boolean;
  /** The same figures from the API, as a file. */
  csv?: { url: string; name: string };
  error?: Error | null;
  again?: () => void;
  loading?: boolean;
  empty: ReactNode;
  controls?: ReactNode;
  /** The decisions behind a place; a click on the chart and the names in the table open them. */
  details?: (at: string) => DecisionFilters;
}

const MOST_GROUPS = 8;

/** A chart with its legend as text, and the same figures as a table and as CSV. */
export function Chart({ title, note, x, named = false, shown, xName, series, kind, format, whole = false, csv, error = null, again, loading, empty, controls, details }: ChartProps) {
  const navigate = useNavigate();
  const [asTable, setAsTable] = useState(false);
  const [failed, setFailed] = useState<Error | null>(null);
  const places = useMemo(() => (named ? x.slice(0, MOST_GROUPS) : x.map((at) => Date.parse(at) / 1_000)) as number[] | string[], [x, named]);
  const save = csv && (() => downloadCsv(csv.url, csv.name).then(() => setFailed(null), setFailed));
  const label = `${title}: ${series.map(({ name }) => name).join(", ")}. The figures are in the table.`;
  return (
    <section className="panel" aria-label={title} style={{ minWidth: 0 }}>
      <Group justify="space-between" align="start" gap="xs" mb="xs">
        <Title order={2}>{title}</Title>
        <Group gap="xs">
          {controls}
          <Button size="xs" variant="default" aria-pressed={asTable} leftSection={asTable ? <IconChartLine size={14} aria-hidden /> : <IconTable size={14} aria-hidden />} onClick={() => setAsTable(!asTable)} disabled={x.length === 0}>
            {asTable ? "Chart" : "Table"}
          </Button>
          {save && (
            <Button size="xs" variant="default" leftSection={<IconDownload size={14} aria-hidden />} onClick={() => void save()} disabled={x.length === 0}>
              CSV
            </Button>
          )}
        </Group>
      </Group>
      {note && (
        <Text size="sm" className="muted" mb="xs">
          {note}
        </Text>
      )}
      <Failed error={error ?? failed} again={() => (error ? again?.() : void save?.())} />
      {x.length > 0 && !asTable && (
        <>
          <Suspense fallback={<Room />}>
            <Plot x={places} series={series} kind={kind} format={format} whole={whole} label={label} {...(details && { open: (at: number) => void (x[at] !== undefined && navigate({ to: "/decisions", search: details(x[at]) })) })} />
          </Suspense>
          <Legend series={series} />
        </>
      )}
      {x.length > 0 && asTable && <Figures title={title} x={x} shown={shown} xName={xName} series={series} format={format} details={details} />}
      {x.length === 0 && !error && (loading ? <Room /> : <p className="muted" style={{ margin: 0 }}>{typeof empty === "string" ? <Words text={empty} /> : empty}</p>)}
    </section>
  );
}

/** The place of a chart that is not there yet. */
const Room = () => <div role="status" aria-label="Loading" style={{ height: 200, borderRadius: 8, background: "var(--tint)" }} />;

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <Group gap="md" mt={4} component="ul" style={{ listStyle: "none", padding: 0, margin: 0 }}>
      {series.map(({ name, colour }) => (
        <li key={name} className="cut" style={{ maxWidth: "100%" }}>
          <span aria-hidden style={{ display: "inline-block", width: 10, height: 10, marginRight: 6, borderRadius: 2, background: `var(--${colour})` }} />
          {name}
        </li>
      ))}
    </Group>
  );
}

function Figures({ title, x, shown, xName, series, format, details }: Pick<ChartProps, "title" | "x" | "shown" | "xName" | "series" | "format"> & { details: ChartProps["details"] | undefined }) {
  return (
    <div style={{ overflow: "auto", maxHeight: 320 }} tabIndex={0} role="region" aria-label={`${title}, as a table`}>
      <Table stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{xName}</Table.Th>
            {series.map(({ name }) => (
              <Table.Th key={name} ta="right">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {x.map((at, row) => (
            <Table.Tr key={at}>
              <Table.Td>{details ? <Link to="/decisions" search={details(at)}>{shown(at)}</Link> : shown(at)}</Table.Td>
              {series.map(({ name, values }) => {
                const value = values[row];
                return (
                  <Table.Td key={name} ta="right" style={{ fontVariantNumeric: "tabular-nums" }}>
                    {value == null ? "–" : format(value)}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
